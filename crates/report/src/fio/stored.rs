//! fio's stored logs (`log_store_compressed`): samples as fio 3.33 has them in memory, one after the other, deflated. Owns that
//! form, both ways; which rows there are is `logs`' to know.

use super::logs::{LogRequest, LogValue, Row, each_row, whole};
use fathom_metrics::OperationRow;
use fathom_schema::Record;
use flate2::Compression;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use flate2::write::ZlibEncoder;
use std::io::{self, BufRead, Read, Write};

/// Bytes of a sample (`struct io_sample`, iolog.h of fio 3.33): milliseconds and value of 8 bytes, direction with flags of 4,
/// priority of 2 and 2 that are empty, block size of 8; all little-endian, as on the machines that fathom runs on.
const SAMPLE_BYTES: usize = 32;
/// Those of one with its offset behind it.
const WITH_OFFSET_BYTES: usize = SAMPLE_BYTES + 8;
/// In the direction: it has an offset.
const HAS_OFFSET: u32 = 1 << 31;
/// In the direction: its priority is to be shown as it is.
const SHOWS_PRIORITY: u32 = 1 << 30;
/// Where the direction is.
const DIRECTION_AT: usize = 16;
/// The class of real-time priorities (`ioprio_set(2)`), in the upper three bits of a priority.
const REAL_TIME: u16 = 1;
/// What a gzip stream begins with (RFC 1952), and none of zlib's (RFC 1950).
const GZIP: u8 = 0x1f;

/// A log of windows, or of single `operations`, in the form of `log_store_compressed`: one zlib stream; nothing of a log without
/// rows. A sample has one value, the mean where both are asked for, and no time of issue. Histograms have no such form.
pub fn fio_stored_log(record: &Record, request: &LogRequest, operations: &[OperationRow]) -> Vec<u8> {
    let mut samples = Vec::new();
    each_row(record, request, operations, &mut |row| put(&mut samples, &row, request));
    if samples.is_empty() {
        return samples;
    }
    let mut stored = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = stored.write_all(&samples).and_then(|()| stored.finish());
    written.expect("memory takes what is written")
}

fn put(samples: &mut Vec<u8>, row: &Row, request: &LogRequest) {
    let Row { time_ms, value, maximum, kind, bytes, offset, priority, .. } = row;
    let columns = request.columns;
    let value = whole(if columns.value == LogValue::Maximum { *maximum } else { *value });
    let with_offset = if columns.offset { HAS_OFFSET } else { 0 };
    let with_priority = if columns.priority { SHOWS_PRIORITY } else { 0 };
    let direction = u32::try_from(kind.index()).unwrap_or(0) | with_offset | with_priority;
    samples.extend(time_ms.to_le_bytes());
    samples.extend(value.to_le_bytes());
    samples.extend(direction.to_le_bytes());
    samples.extend(priority.to_le_bytes());
    samples.extend([0; 2]);
    samples.extend(u64::from(*bytes).to_le_bytes());
    if columns.offset {
        samples.extend(offset.to_le_bytes());
    }
}

/// Why a stored log could not be shown.
#[derive(Debug)]
pub enum NotInflated {
    /// It cannot be read as one; why, and what to do.
    Unread(String),
    /// The rows could not be written.
    Unwritten(io::Error),
}

/// Writes the rows of a stored log, as `fio --inflate-log` of 3.33 does: of any number of zlib or gzip streams, one after the
/// other, the columns of each by its first sample.
///
/// # Errors
/// What is no such log, or cannot be read or written. What comes before a fault is written.
pub fn fio_inflated(stored: &mut dyn BufRead, rows: &mut dyn Write) -> Result<(), NotInflated> {
    let unread = |error: io::Error| {
        NotInflated::Unread(format!(
            "{error}: it is no whole log of log_store_compressed; name its .log.fz file"
        ))
    };
    loop {
        let start = stored.fill_buf().map_err(unread)?;
        if start.is_empty() {
            return rows.flush().map_err(NotInflated::Unwritten);
        }
        let mut samples: Box<dyn Read + '_> = if start[0] == GZIP {
            Box::new(GzDecoder::new(&mut *stored))
        } else {
            Box::new(ZlibDecoder::new(&mut *stored))
        };
        let mut length = SAMPLE_BYTES;
        let mut sample = [0; WITH_OFFSET_BYTES];
        let mut flags = None;
        while read_whole(&mut samples, &mut sample[..SAMPLE_BYTES]).map_err(unread)? {
            let direction = u32::from_le_bytes(field(&sample, DIRECTION_AT));
            let flags = *flags.get_or_insert(direction);
            if flags & HAS_OFFSET != 0 {
                length = WITH_OFFSET_BYTES;
            }
            if length > SAMPLE_BYTES
                && !read_whole(&mut samples, &mut sample[SAMPLE_BYTES..]).map_err(unread)?
            {
                return Err(unread(io::ErrorKind::UnexpectedEof.into()));
            }
            rows.write_all(row(&sample, flags).as_bytes()).map_err(NotInflated::Unwritten)?;
        }
    }
}

/// Fills `into`; false at the end of the stream.
fn read_whole(from: &mut dyn Read, into: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        match from.read(&mut into[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn field<const N: usize>(sample: &[u8; WITH_OFFSET_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&sample[at..at + N]);
    bytes
}

/// A sample as text; the value is a signed number, as with fio.
fn row(sample: &[u8; WITH_OFFSET_BYTES], flags: u32) -> String {
    let time_ms = u64::from_le_bytes(field(sample, 0));
    let value = i64::from_le_bytes(field(sample, 8));
    let direction = u32::from_le_bytes(field(sample, DIRECTION_AT)) & !(HAS_OFFSET | SHOWS_PRIORITY);
    let priority = u16::from_le_bytes(field(sample, DIRECTION_AT + 4));
    let bytes = u64::from_le_bytes(field(sample, DIRECTION_AT + 8));
    let offset = if flags & HAS_OFFSET != 0 {
        format!("{}, ", u64::from_le_bytes(field(sample, SAMPLE_BYTES)))
    } else {
        String::new()
    };
    let priority = if flags & SHOWS_PRIORITY != 0 {
        format!("{priority:#06x}")
    } else {
        u8::from(priority >> 13 == REAL_TIME).to_string()
    };
    format!("{time_ms}, {value}, {direction}, {bytes}, {offset}{priority}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    /// Of fio 3.33: `--rw=read --bs=4k --size=8k --ioengine=null --write_iops_log=x --log_store_compressed=1`.
    const FIO_PLAIN: &[u8] = &[
        0x78, 0x9c, 0x63, 0x60, 0x80, 0x00, 0x46, 0x06, 0x34, 0x20, 0x80, 0xca, 0xc5, 0x25, 0x0f, 0x00, 0x03,
        0x70, 0x00, 0x23,
    ];
    /// As that, with `--log_offset=1 --log_prio=1`.
    const FIO_WIDE: &[u8] = &[
        0x78, 0x9c, 0x63, 0x60, 0x80, 0x00, 0x46, 0x06, 0x38, 0x38, 0x00, 0x26, 0x05, 0x18, 0xb0, 0x02, 0x9c,
        0xea, 0xa0, 0x34, 0x00, 0x43, 0x08, 0x01, 0xb3,
    ];

    fn inflated(mut stored: &[u8]) -> Result<String, String> {
        let mut rows = Vec::new();
        match fio_inflated(&mut stored, &mut rows) {
            Ok(()) => Ok(String::from_utf8(rows).expect("rows are text")),
            Err(NotInflated::Unread(reason)) => Err(reason),
            Err(NotInflated::Unwritten(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn what_fio_stored_is_read() {
        let plain = [FIO_PLAIN, FIO_WIDE].map(<[u8]>::to_vec);
        assert_eq!(inflated(&plain[0]).as_deref(), Ok("0, 1, 0, 4096, 0\n0, 1, 0, 4096, 0\n"));
        let wide = "0, 1, 0, 4096, 0, 0x0000\n0, 1, 0, 4096, 4096, 0x0000\n";
        assert_eq!(inflated(&plain[1]).as_deref(), Ok(wide));
        // One after the other, of either kind.
        let rows = inflated(&plain.concat()).expect("both are whole");
        assert_eq!(rows.lines().count(), 4);
        assert!(rows.ends_with(wide), "{rows}");
        let mut samples = Vec::new();
        ZlibDecoder::new(&plain[1][..]).read_to_end(&mut samples).expect("it is whole");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&samples).expect("memory takes it");
        assert_eq!(inflated(&gzip.finish().expect("memory takes it")).as_deref(), Ok(wide));
        assert_eq!(inflated(&[]).as_deref(), Ok(""));
        assert!(inflated(&plain[1][..plain[1].len() - 9]).expect_err("it is cut").contains(".log.fz"));
        assert!(inflated(b"0, 1, 0, 4096, 0\n").expect_err("it is text").contains(".log.fz"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), deflated in any::<bool>()) {
            let stored = if deflated {
                let mut stored = ZlibEncoder::new(Vec::new(), Compression::fast());
                stored.write_all(&bytes).expect("memory takes it");
                stored.finish().expect("memory takes it")
            } else {
                bytes
            };
            let _ = inflated(&stored);
        }
    }
}
