//! How an interval lies in a run's file: its figures as JSON, so that a new field needs no new layout, its distributions
//! packed behind them, each once, and all of it as a block of LZ4 (its block format) behind its length. Owns that form and what it
//! takes of a file; knows nothing of tables.

use fathom_schema::{Interval, KindTally, LatencyTally, SparseHistogram};
use lz4_flex::block::{compress_prepend_size_with_dict, decompress_into_with_dict};

/// What all intervals have in common, more or less: the names of their figures. A block refers to it as to what stands before
/// it. Never changed, since the files of this layout cannot be read without it; names that came later take a few bytes more.
const COMMON: &str = concat!(
    r#""targets":[{"target":0,"kind":"trim","errors":0,"service":{"sum_ns":0.0,"max_ns":0},"response":{"connections":{""#,
    r#"failed_ns":0.0,"outside_ns":0.0,{"kind":"sync","phase":"ramp","phase":"verify","late":true,"kind":"write","respo"#,
    r#"nse":null,"completion":null}],{"step":0,"stream":0,"sequence":0,"start":0,"end":1000000000,"phase":"measure","la"#,
    r#"te":false,"tally":{"kinds":[{"kind":"read","operations":1000,"bytes":4096000,"short":0,"data_syncs":0,"errors":["#,
    r#"],"service":{"moments":{"count":1000,"min_ns":100000,"max_ns":1000000,"sum_ns":1000000.0,"sum_squares":100000000"#,
    r#"0000.0},"histogram":[]},"response":{"moments":{"submission":{"count":1000,"min_ns":0,"max_ns":0,"sum_ns":0.0,"su"#,
    r#"m_squares":0.0},"completion":{"moments":{"histogram":[]}}],"in_flight_ns":1000000000.0,"cpu_ns":1000000,"depth_l"#,
    r#"evels":[0,0,0,0,0,0,0],"submit_sizes":[0,0,0,0,0,0,0],"complete_sizes":[0,0,0,0,0,0,0],"arrivals":0,"arrivals_la"#,
    r#"te":0,"arrivals_dropped":0,"backlog_max":0}}"#,
);

/// Bytes of one interval before it is compressed, at most; a hundred times those of one in which every bucket of all
/// distributions has millions.
const PLAIN_MAX: usize = 64 << 20;
/// Bytes that one of a block stands for, at most: it can say of 255 more that they are as before.
const EXPANSION_MAX: usize = 256;

/// Of a kind: its response times are its service times.
const RESPONSE_IS_SERVICE: u8 = 1;
/// Of a kind: its completion times are its service times.
const COMPLETION_IS_SERVICE: u8 = 2;

/// Packs intervals.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    plain: Vec<u8>,
}

impl Packer {
    pub(crate) fn pack(&mut self, interval: &Interval) -> Result<Vec<u8>, serde_json::Error> {
        // Their distributions are shared, not copied.
        let mut figures = interval.clone();
        let mut rest = Vec::new();
        for kind in &mut figures.tally.kinds {
            rest.push(leave_out(kind));
            for latency in distributions(kind) {
                let histogram = std::mem::take(&mut latency.histogram);
                let packed = histogram.packed();
                rest.extend(
                    u32::try_from(packed.len()).expect("there are some thousand buckets").to_le_bytes(),
                );
                rest.extend(packed);
            }
        }
        // How long the figures are stands before them.
        self.plain.clear();
        self.plain.extend([0; 4]);
        serde_json::to_writer(&mut self.plain, &figures)?;
        let length = u32::try_from(self.plain.len() - 4).expect("they are some hundred bytes").to_le_bytes();
        self.plain[..4].copy_from_slice(&length);
        self.plain.extend(rest);

        Ok(compress_prepend_size_with_dict(&self.plain, COMMON.as_bytes()))
    }
}

/// Takes what is said twice out of a kind's figures, and says what it was.
fn leave_out(kind: &mut KindTally) -> u8 {
    let mut flags = 0;
    if kind.response.as_ref() == Some(&kind.service) {
        kind.response = None;
        flags |= RESPONSE_IS_SERVICE;
    }
    if kind.completion.as_ref() == Some(&kind.service) {
        kind.completion = None;
        flags |= COMPLETION_IS_SERVICE;
    }
    flags
}

/// What of a kind has a distribution, in the order in which they are packed.
fn distributions(kind: &mut KindTally) -> impl Iterator<Item = &mut LatencyTally> {
    let KindTally {
        kind: _,
        operations: _,
        bytes: _,
        short: _,
        data_syncs: _,
        errors: _,
        service,
        response,
        submission: _,
        completion,
    } = kind;
    [Some(service), response.as_mut(), completion.as_mut()].into_iter().flatten()
}

/// Reads what a [`Packer`] wrote.
#[derive(Debug, Default)]
pub(crate) struct Unpacker {
    plain: Vec<u8>,
}

impl Unpacker {
    /// The interval, or why it cannot be read.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<Interval, String> {
        self.expand(packed)?;
        let mut rest = Rest(&self.plain);
        let length = rest.length()?;
        let figures = rest.take(length)?;
        // Looked at once as a whole: it is read by its bytes otherwise, and each name looked at again.
        let figures = str::from_utf8(figures).map_err(|error| error.to_string())?;
        let mut interval: Interval = serde_json::from_str(figures).map_err(|error| error.to_string())?;
        for kind in &mut interval.tally.kinds {
            let flags = rest.take(1)?[0];
            for latency in distributions(kind) {
                latency.histogram = rest.histogram()?;
            }
            if flags & RESPONSE_IS_SERVICE != 0 {
                kind.response = Some(kind.service.clone());
            }
            if flags & COMPLETION_IS_SERVICE != 0 {
                kind.completion = Some(kind.service.clone());
            }
        }
        Ok(interval)
    }

    fn expand(&mut self, packed: &[u8]) -> Result<(), String> {
        let (length, block) = packed.split_first_chunk().ok_or("it has no length")?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > PLAIN_MAX {
            return Err(format!("it is longer than {PLAIN_MAX} bytes"));
        }
        if length / EXPANSION_MAX > block.len() + COMMON.len() {
            return Err(format!("{} bytes cannot stand for {length}", block.len()));
        }
        self.plain.clear();
        self.plain.resize(length, 0);
        match decompress_into_with_dict(block, &mut self.plain, COMMON.as_bytes()) {
            Ok(found) if found == length => Ok(()),
            Ok(found) => Err(format!("it has {found} bytes of {length}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or("it is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, String> {
        let length = self.take(4)?.try_into().map(u32::from_le_bytes).expect("these are four");
        Ok(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn histogram(&mut self) -> Result<SparseHistogram, String> {
        let length = self.length()?;
        let packed = self.take(length)?;
        SparseHistogram::of_packed(packed).ok_or_else(|| "its distributions are none".to_owned())
    }
}

/// Bytes of a file that a row with a body of so many takes. Pages hold whole rows, and what does not fit a page fills others
/// of its own (`SQLite` file format, section 1.6, for pages of 4096 bytes).
pub(crate) fn taken(body_bytes: usize) -> u64 {
    const PAGE: usize = 4096;
    /// Of the rows' pages, after their head.
    const ROWS: usize = PAGE - 8;
    /// Of a page that a row goes on in, after the number of the next.
    const FURTHER: usize = PAGE - 4;
    /// Bytes of a row that is not divided, at most; those of one that is which stay with the others, at least.
    const WHOLE_MAX: usize = PAGE - 35;
    const STAYS_MIN: usize = (PAGE - 12) * 32 / 255 - 23;
    /// Lengths, number, step, stream and place of a row.
    const AROUND: usize = 18;
    let row = body_bytes + AROUND;
    let (stays, further) = if row <= WHOLE_MAX {
        (row, 0)
    } else {
        let rest = STAYS_MIN + (row - STAYS_MIN) % FURTHER;
        let stays = if rest <= WHOLE_MAX { rest } else { STAYS_MIN };
        (stays, (row - stays).div_ceil(FURTHER))
    };
    (PAGE / (ROWS / stays) + further * PAGE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::interval;
    use fathom_schema::{Event, Moments, OperationKind};

    fn latency(values: u64) -> LatencyTally {
        let moments =
            Moments { count: values, min_ns: 1, max_ns: values, sum_ns: 1.5, sum_squares: values as f64 };
        // Spread as latencies are, with counts of one digit and of many.
        let bucket = |n: u64| (u32::try_from(n * 7 + n * n % 5).expect("they are few"), 1 + n * n * n % 1000);
        LatencyTally { moments, histogram: (0..values).map(bucket).collect() }
    }

    /// An interval of two kinds with these latencies.
    fn of(latencies: [Option<LatencyTally>; 2]) -> Interval {
        let Event::Interval(mut interval) = interval(1, 2, 3) else { unreachable!("that is what it makes") };
        let [response, completion] = latencies;
        let kind = &mut interval.tally.kinds[0];
        (kind.service, kind.response, kind.completion) = (latency(40), response, completion);
        let mut other = kind.clone();
        other.kind = OperationKind::Write;
        other.service = latency(0);
        interval.tally.kinds.push(other);
        *interval
    }

    #[test]
    fn what_is_packed_comes_back() {
        let (mut packer, mut unpacker) = (Packer::default(), Unpacker::default());
        // One after the other with the same two: nothing of one is in the next.
        for values in
            [[None, None], [Some(40), None], [None, Some(40)], [Some(41), Some(900)], [Some(0), Some(40)]]
        {
            let interval = of(values.map(|values| values.map(latency)));
            let packed = packer.pack(&interval).expect("it can be written");
            assert_eq!(unpacker.unpack(&packed).expect("it was packed"), interval, "{values:?}");
        }
    }

    #[test]
    fn what_is_the_same_takes_its_place_once() {
        let mut packer = Packer::default();
        let mut bytes = |latencies| packer.pack(&of(latencies)).expect("it can be written").len();
        let once = bytes([None, None]);
        let shared = bytes([Some(latency(40)), Some(latency(40))]);
        assert!(shared < once + 100, "{shared} against {once}");
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let packed = Packer::default().pack(&of([Some(latency(41)), None])).expect("it can be written");
        let mut unpacker = Unpacker::default();
        for length in 0..packed.len() {
            assert!(unpacker.unpack(&packed[..length]).is_err(), "{length} bytes of {}", packed.len());
        }
        // Changed bytes are refused or read as something else, without harm.
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 0x55;
            drop(unpacker.unpack(&changed));
        }
        assert!(unpacker.unpack(&packed).is_ok());
    }

    #[test]
    fn what_says_that_it_is_long_takes_no_memory() {
        let of = |length: usize| {
            let length = u32::try_from(length).expect("it has four bytes").to_le_bytes();
            Unpacker::default().unpack(&[length.as_slice(), &[0; 9]].concat())
        };
        assert!(of(PLAIN_MAX + 1).is_err_and(|reason| reason.contains("longer")));
        assert!(of(PLAIN_MAX).is_err_and(|reason| reason.contains("cannot stand for")));
        assert!(of(9).is_err());
    }

    /// Names are said once in all files, not once in each interval.
    #[test]
    fn an_interval_of_few_operations_is_small() {
        let packed = Packer::default().pack(&of([None, None])).expect("it can be written");
        assert!(packed.len() < 450, "{} bytes", packed.len());
    }

    /// What a table of such rows takes, from the pages that it has; the tree above them takes little.
    #[test]
    fn rows_take_of_a_file_what_is_reckoned() {
        for bytes in [200, 900, 1100, 2000, 2100, 4000, 4060, 5000, 9000, 60_000] {
            let db = rusqlite::Connection::open_in_memory().expect("it needs no room");
            db.execute_batch(&crate::layout::tables()).expect("they can be made");
            let pages = || -> u64 {
                db.pragma_query_value(None, "page_count", |row| row.get(0)).expect("it has some")
            };
            db.execute_batch("DROP INDEX interval_series").expect("it is there");
            let before = pages();
            let rows = 2_000_000 / bytes.max(500);
            for seq in 1_000_000..1_000_000 + rows {
                db.execute("INSERT INTO interval VALUES (?1, 0, 0, zeroblob(?2))", (seq, bytes))
                    .expect("it fits");
            }
            let (found, reckoned) = (((pages() - before) * 4096) as f64, (rows as u64 * taken(bytes)) as f64);
            assert!((0.93..1.07).contains(&(found / reckoned)), "{bytes}: {found} of {reckoned}");
        }
    }
}
