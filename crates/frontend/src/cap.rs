//! The bound on how much is said about one bad text. It knows nothing of what the diagnostics are about.

use fathom_model::{Diagnostics, Level};

/// Diagnostics of one reading, at most. Nobody reads more, and a megabyte of garbage must not print a megabyte of complaints.
pub const DIAGNOSTICS_MAX: usize = 100;

/// The first [`DIAGNOSTICS_MAX`] diagnostics; the last of them then says how many were left out. A left-out error keeps
/// the whole an error.
pub(crate) fn capped(found: Diagnostics) -> Diagnostics {
    if found.all().len() <= DIAGNOSTICS_MAX {
        return found;
    }
    let (kept, left_out) = found.all().split_at(DIAGNOSTICS_MAX - 1);
    let mut capped = Diagnostics::default();
    for one in kept {
        match one.level {
            Level::Error => capped.error(one.code, one.span, one.message.clone(), one.help.clone()),
            Level::Warning => capped.warn(one.code, one.span, one.message.clone(), one.help.clone()),
        }
    }
    let errors = left_out.iter().filter(|one| one.level == Level::Error).count();
    let message = match left_out.len() {
        all if all == errors => format!("{all} more errors are left out"),
        all if errors == 0 => format!("{all} more warnings are left out"),
        all => format!("{errors} more errors and {} more warnings are left out", all - errors),
    };
    let help = "mend those above first";
    if errors > 0 {
        capped.error("job.too-many-faults", None, message, help);
    } else {
        capped.warn("job.too-many-faults", None, message, help);
    }
    capped
}
