//! Names under which a drive's own counts stand in the environment: its subject is `drive NAME`. Counts are whole numbers, shares
//! `3 %`.

/// First word of the subject.
pub const SUBJECT: &str = "drive";
/// Stands alone and without a value where a drive cannot be asked; its source says why.
pub const HEALTH: &str = "health";
/// The drive's own verdict: `passed` or `failed`.
pub const STATUS: &str = "status";
/// What an `NVMe` controller warns of (`none`, or a list).
pub const WARNINGS: &str = "critical warnings";
/// The one of these that passes when the drive has cooled.
pub const HEAT_WARNING: &str = "temperature beyond its threshold";
/// `31 °C`.
pub const TEMPERATURE: &str = "temperature";
/// Whole hours.
pub const POWER_ON_HOURS: &str = "power-on hours";
/// Share of its life that a flash drive has used up by its maker's estimate; may exceed 100 %.
pub const WEAR: &str = "wear";
/// What is left of the spare blocks, percent.
pub const SPARE: &str = "spare";
/// Below which the drive warns, percent.
pub const SPARE_THRESHOLD: &str = "spare threshold";
/// Times that data could not be read from the medium, or were found to be wrong.
pub const MEDIA_ERRORS: &str = "media errors";
/// Sectors that were replaced (ATA attribute 5), or defects that have come in use (SCSI).
pub const REALLOCATED: &str = "reallocated sectors";
/// Sectors that could not be read and wait to be written (ATA attribute 197).
pub const PENDING: &str = "pending sectors";
/// Sectors that could not be read in the drive's own tests (ATA attribute 198).
pub const UNCORRECTABLE: &str = "uncorrectable sectors";
/// Transfers that came damaged over the cable (ATA attribute 199).
pub const INTERFACE_ERRORS: &str = "interface errors";
/// Minutes above the temperatures at which an `NVMe` drive warns.
pub const HOT_MINUTES: &str = "minutes too hot";
/// Times that an `NVMe` drive has slowed itself down for its temperature.
pub const THROTTLED_TIMES: &str = "times slowed down for heat";
/// `none`, or how far a test goes that the drive makes of itself.
pub const SELF_TEST: &str = "self-test";
