//! Counters that the kernel keeps per block device, read from sysfs (kernel documentation, block/stat.rst).
//!
//! Knows the order of the fields; older kernels have fewer, and what is missing counts as zero.

use super::roots::{Roots, text};
use fathom_schema::{DeviceCounters, DeviceNumber};

/// The counters of these devices, in their order; devices that are gone are left out.
pub fn device_counters(devices: &[DeviceNumber]) -> Vec<DeviceCounters> {
    device_counters_at(&Roots::default(), devices)
}

/// As [`device_counters`], on a host whose kernel shows itself at `roots`.
pub fn device_counters_at(roots: &Roots, devices: &[DeviceNumber]) -> Vec<DeviceCounters> {
    devices.iter().filter_map(|&number| counters(roots, number)).collect()
}

fn counters(roots: &Roots, number: DeviceNumber) -> Option<DeviceCounters> {
    let DeviceNumber { major, minor } = number;
    let folder = roots.sys.join(format!("dev/block/{major}:{minor}")).canonicalize().ok()?;
    let stat = text(&folder.join("stat"))?;
    let fields: Vec<u64> = stat.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |index: usize| fields.get(index).copied().unwrap_or(0);
    Some(DeviceCounters {
        name: folder.file_name()?.to_string_lossy().into_owned(),
        number,
        reads: at(0),
        read_merges: at(1),
        read_sectors: at(2),
        read_ms: at(3),
        writes: at(4),
        write_merges: at(5),
        write_sectors: at(6),
        write_ms: at(7),
        // 8 is what is in flight now, no counter.
        busy_ms: at(9),
        queue_ms: at(10),
        discards: at(11),
        discard_sectors: at(13),
        flushes: at(15),
    })
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::*;

    #[test]
    fn fields_are_in_their_places() {
        let tree = tree("disks");
        let of = |major, minor| DeviceNumber { major, minor };
        // sdb has no counters here, and 1:1 does not exist.
        let found = device_counters_at(&tree.roots, &[of(259, 0), of(8, 16), of(1, 1)]);
        let expect = DeviceCounters {
            name: "nvme0n1".to_owned(),
            number: of(259, 0),
            reads: 100,
            read_merges: 1,
            read_sectors: 2000,
            read_ms: 30,
            writes: 200,
            write_merges: 2,
            write_sectors: 4000,
            write_ms: 60,
            busy_ms: 50,
            queue_ms: 90,
            discards: 7,
            discard_sectors: 9,
            flushes: 4,
        };
        assert_eq!(found, [expect]);
    }
}
