//! Rows of files, devices and how they are prepared.

use super::super::settings::Settings;
use super::super::values::{Misread, Unit, names};
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built, refused};

/// The largest zone: sums of two stay within what offsets can be.
const ZONE_MAX: u64 = 1 << 61;

/// Bytes of one list of names, as with fio (`PATH_MAX`, less the mark of its end). Further lines add further names.
const LIST_BYTES_MAX: usize = 4095;

pub(super) const ROWS: &[OptionRow] = &[
    built("filename", &[], P0, Value::Text(add_names)),
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
    built(
        "opendir",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.files.folders.push(text.trim().to_owned());
            s.files.most = None;
            Ok(())
        }),
    ),
    built(
        "lockfile",
        &[],
        P1,
        Value::Word(&["none", "exclusive", "readwrite"], |s, word, _| word.clone_into(&mut s.files.lock)),
    ),
    refused("filetype", &[], &["none"], "what a path is, is looked at and obeyed"),
    built(
        "nrfiles",
        &["nr_files"],
        P0,
        Value::Count(1, 10_000_000, |s, n| {
            s.files.count = n;
            s.files.most = (!s.files.folders.is_empty()).then_some(n);
        }),
    ),
    built("openfiles", &[], P0, Value::Count(0, u64::MAX, |s, n| s.files.open_at_once = n)),
    built(
        "file_service_type",
        &[],
        P0,
        Value::Word(
            &["random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"],
            |s, word, postfix| s.files.service = (word.to_owned(), postfix.map(str::to_owned)),
        ),
    ),
    built("filesize", &[], P0, Value::Span(Unit::Bytes, |s, range| s.files.filesize = Some(range))),
    built("file_append", &[], P1, Value::Boolean(|s, flag| s.files.append = flag)),
    built("fill_device", &["fill_fs"], P1, Value::Boolean(|s, flag| s.files.fill = flag)),
    built("overwrite", &[], P0, Value::Boolean(|s, flag| s.files.overwrite = flag)),
    built(
        "fallocate",
        &[],
        P0,
        Value::Word(&["none", "native", "posix", "keep", "truncate", "0", "1"], |s, word, _| {
            word.clone_into(&mut s.files.fallocate);
        }),
    ),
    built(
        "fadvise_hint",
        &[],
        P1,
        Value::Word(&["0", "1", "random", "sequential", "noreuse"], |s, word, _| {
            word.clone_into(&mut s.files.advice);
        }),
    ),
    accepted("create_serialize", &[], P0, NO_BOOLEAN, ""),
    accepted("create_fsync", &[], P1, NO_BOOLEAN, ""),
    built("create_on_open", &[], P0, Value::Boolean(|s, flag| s.files.create_on_open = flag)),
    built("allow_file_create", &[], P1, Value::Boolean(|s, flag| s.files.allow_create = flag)),
    // A mounted device is never written, whether a job would allow it or not.
    accepted("allow_mounted_write", &[], P1, NO_BOOLEAN, ""),
    built("pre_read", &[], P1, Value::Boolean(|s, flag| s.files.pre_read = flag)),
    built("unlink", &[], P0, Value::Boolean(|s, flag| s.files.unlink = flag)),
    built("unlink_each_loop", &[], P1, Value::Boolean(|s, flag| s.files.unlink_each_loop = flag)),
    built("invalidate", &[], P0, Value::Boolean(|s, flag| s.files.invalidate = flag)),
    accepted(
        "ioscheduler",
        &[],
        P2,
        Value::Text(|_, _, _| Ok(())),
        "the scheduler stays as it is; write to /sys/block/DEV/queue/scheduler before the run",
    ),
    accepted(
        "write_hint",
        &[],
        P2,
        Value::Word(&["none", "short", "medium", "long", "extreme"], |_, _, _| {}),
        "lifetimes of what is written are not passed on to the device",
    ),
    built(
        "zonemode",
        &[],
        P1,
        Value::Word(&["none", "strided", "zbd"], |s, word, _| s.files.zone_mode = Some(word.to_owned())),
    ),
    built("zonesize", &[], P1, Value::Bytes(0, ZONE_MAX, |s, bytes| s.files.zone[0] = bytes)),
    built("zonerange", &[], P1, Value::Bytes(0, ZONE_MAX, |s, bytes| s.files.zone[1] = bytes)),
    accepted(
        "zonecapacity",
        &[],
        P1,
        Value::Bytes(0, ZONE_MAX, |_, _| {}),
        "only zonemode=zbd obeys it, which is refused",
    ),
    built("zoneskip", &[], P1, Value::Bytes(0, ZONE_MAX, |s, bytes| s.files.zone[2] = bytes)),
    refused("read_beyond_wp", &[], &["0"], "it belongs to zonemode=zbd, which is refused"),
    accepted(
        "max_open_zones",
        &[],
        P1,
        Value::Count(0, 4096, |_, _| {}),
        "only zonemode=zbd obeys it, which is refused",
    ),
    refused("job_max_open_zones", &[], &["0"], "it belongs to zonemode=zbd, which is refused"),
    refused("ignore_zone_limits", &[], &["0"], "it belongs to zonemode=zbd, which is refused"),
    refused("zone_reset_threshold", &[], &[], "it belongs to zonemode=zbd, which is refused"),
    refused("zone_reset_frequency", &[], &[], "it belongs to zonemode=zbd, which is refused"),
    refused("recover_zbd_write_error", &[], &["0"], "it belongs to zonemode=zbd, which is refused"),
    refused("write_zone_remainder", &[], &["0"], "it belongs to zonemode=zbd, which is refused"),
    refused("fdp", &[], &["0"], "placement hints need commands past the block layer, which are not sent"),
    refused(
        "dataplacement",
        &["data_placement"],
        &["none"],
        "placement hints need commands past the block layer, which are not sent",
    ),
    refused(
        "plid_select",
        &["fdp_pli_select"],
        &[],
        "placement hints need commands past the block layer, which are not sent",
    ),
    refused(
        "plids",
        &["fdp_pli"],
        &[],
        "placement hints need commands past the block layer, which are not sent",
    ),
    refused("dp_scheme", &[], &[], "placement hints need commands past the block layer, which are not sent"),
];

/// Adds names to those that are there, each below the first directory given so far: fio joins them at this moment. Of a
/// command line, too, it takes no blanks around them, and nothing from a sign of a comment on.
fn add_names(s: &mut Settings, text: &str, misreads: &mut Vec<Misread>) -> Result<(), String> {
    if text.len() > LIST_BYTES_MAX {
        let length = text.len();
        return Err(format!(
            "the list of {length} bytes is above {LIST_BYTES_MAX}; give the option twice, with a part of it each"
        ));
    }
    let kept = text.split([';', '#']).next().unwrap_or_default().trim();
    if kept != text.trim() {
        misreads.push(Misread {
            piece: text.trim().to_owned(),
            reads_as: format!("\"{kept}\""),
            because: "a comment begins at ; and #, on a command line too",
            instead: kept.to_owned(),
        });
    }
    let directory = s.files.directories.first().cloned();
    let new = names(kept).into_iter().map(|name| match &directory {
        Some(directory) => super::super::lower::joined(directory, &name),
        None => name,
    });
    let new = new.collect();
    s.files.add(new)
}
