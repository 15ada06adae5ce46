//! Rows of files, devices and how they are prepared.

use super::super::settings::Settings;
use super::super::values::{Unit, names};
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built, not_yet};
use std::sync::Arc;

/// File names of one job, at most: a line holds some thousands at most, and each clone carries them.
const NAMES_MAX: usize = 4096;

pub(super) const ROWS: &[OptionRow] = &[
    built("filename", &[], P0, Value::Text(|s, text, _| add_names(s, text))),
    built(
        "directory",
        &[],
        P0,
        Value::Text(|s, text, _| {
            s.files.directories = names(text);
            Ok(())
        }),
    ),
    built(
        "filename_format",
        &[],
        P0,
        Value::Text(|s, text, _| {
            text.clone_into(&mut s.files.format);
            Ok(())
        }),
    ),
    accepted("unique_filename", &[], P1, NO_BOOLEAN, ""),
    not_yet("opendir", &[], P1, &[]),
    not_yet("lockfile", &[], P1, &["none"]),
    not_yet("filetype", &[], P2, &["none"]),
    built("nrfiles", &["nr_files"], P0, Value::Count(1, 10_000_000, |s, n| s.files.count = n)),
    accepted("openfiles", &[], P0, Value::Count(0, u64::MAX, |_, _| {}), ""),
    built(
        "file_service_type",
        &[],
        P0,
        Value::Word(
            &["random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"],
            |s, word, postfix| {
                let every = postfix.and_then(|text| text.trim().parse().ok());
                s.files.service = (word.to_owned(), every);
            },
        ),
    ),
    built(
        "filesize",
        &[],
        P0,
        Value::Span(Unit::Bytes, |s, range| s.files.filesize = Some(range).filter(|range| range.1 > 0)),
    ),
    not_yet("file_append", &[], P1, &["0"]),
    not_yet("fill_device", &["fill_fs"], P1, &["0"]),
    built("overwrite", &[], P0, Value::Boolean(|s, flag| s.files.overwrite = flag)),
    built(
        "fallocate",
        &[],
        P0,
        Value::Word(&["none", "native", "posix", "keep", "truncate", "0", "1"], |s, word, _| {
            word.clone_into(&mut s.files.fallocate);
        }),
    ),
    not_yet("fadvise_hint", &[], P1, &["0", "1"]),
    accepted("create_serialize", &[], P0, NO_BOOLEAN, ""),
    accepted("create_fsync", &[], P1, NO_BOOLEAN, ""),
    built("create_on_open", &[], P0, Value::Boolean(|s, flag| s.files.create_on_open = flag)),
    built("allow_file_create", &[], P1, Value::Boolean(|s, flag| s.files.allow_create = flag)),
    not_yet("allow_mounted_write", &[], P1, &["0"]),
    not_yet("pre_read", &[], P1, &["0"]),
    built("unlink", &[], P0, Value::Boolean(|s, flag| s.files.unlink = flag)),
    not_yet("unlink_each_loop", &[], P1, &["0"]),
    built("invalidate", &[], P0, Value::Boolean(|s, flag| s.files.invalidate = flag)),
    not_yet("ioscheduler", &[], P2, &[]),
    not_yet("write_hint", &[], P2, &["none"]),
    not_yet("zonemode", &[], P1, &["none"]),
    not_yet("zonesize", &[], P1, &["0"]),
    not_yet("zonerange", &[], P1, &["0"]),
    not_yet("zonecapacity", &[], P2, &["0"]),
    not_yet("zoneskip", &[], P1, &["0"]),
    not_yet("read_beyond_wp", &[], P2, &["0"]),
    not_yet("max_open_zones", &[], P1, &["0"]),
    not_yet("job_max_open_zones", &[], P2, &["0"]),
    not_yet("ignore_zone_limits", &[], P2, &["0"]),
    not_yet("zone_reset_threshold", &[], P2, &[]),
    not_yet("zone_reset_frequency", &[], P2, &[]),
    not_yet("recover_zbd_write_error", &[], P2, &["0"]),
    not_yet("write_zone_remainder", &[], P2, &["0"]),
    not_yet("fdp", &[], P2, &["0"]),
    not_yet("dataplacement", &["data_placement"], P2, &["none"]),
    not_yet("plid_select", &["fdp_pli_select"], P2, &[]),
    not_yet("plids", &["fdp_pli"], P2, &[]),
    not_yet("dp_scheme", &[], P2, &[]),
];

/// Adds names to those that are there, each below the first directory given so far: fio joins them at this moment.
fn add_names(s: &mut Settings, text: &str) -> Result<(), String> {
    let new = names(text);
    if new.is_empty() {
        return Err("it names no file".to_owned());
    }
    if s.files.names.len() + new.len() > NAMES_MAX {
        return Err(format!("more than {NAMES_MAX} names are given"));
    }
    if s.files.names.is_empty() {
        s.files.count = 0;
    }
    s.files.count += new.len() as u64;
    let directory = s.files.directories.first().cloned();
    let all = Arc::make_mut(&mut s.files.names);
    all.extend(new.into_iter().map(|name| match &directory {
        Some(directory) => super::super::lower::joined(directory, &name),
        None => name,
    }));
    Ok(())
}
