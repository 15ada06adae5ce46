//! How an interval lies in a run's file: its figures as JSON, so that a new field needs no new layout, its distributions
//! packed behind them, each once, and all of it deflated. Owns that form and what it takes of a file; knows nothing of tables.

use fathom_schema::{Interval, KindTally, LatencyTally, SparseHistogram};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// How hard it is tried to make it small: the least. More takes several times as long and saves a tenth.
const EFFORT: u32 = 1;

/// Bytes of one interval before it is deflated, at most; a hundred times those of one in which every bucket of all
/// distributions has millions.
const PLAIN_MAX: usize = 64 << 20;

/// What lies between the figures and the distributions; JSON has none.
const END_OF_FIGURES: u8 = 0;

/// Of a kind: its response times are its service times.
const RESPONSE_IS_SERVICE: u8 = 1;
/// Of a kind: its completion times are its service times.
const COMPLETION_IS_SERVICE: u8 = 2;

/// Packs intervals.
#[derive(Debug)]
pub(crate) struct Packer {
    deflate: Compress,
    plain: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self { deflate: Compress::new(Compression::new(EFFORT), false), plain: Vec::new() }
    }

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
        self.plain.clear();
        serde_json::to_writer(&mut self.plain, &figures)?;
        self.plain.push(END_OF_FIGURES);
        self.plain.extend(rest);

        self.deflate.reset();
        let mut packed = Vec::with_capacity(self.plain.len() / 2 + 64);
        loop {
            let from = usize::try_from(self.deflate.total_in()).expect("it is in memory");
            let status = self.deflate.compress_vec(&self.plain[from..], &mut packed, FlushCompress::Finish);
            match status.expect("deflate takes everything") {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => packed.reserve(packed.capacity()),
            }
        }
        packed.shrink_to_fit();
        Ok(packed)
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
#[derive(Debug)]
pub(crate) struct Unpacker {
    inflate: Decompress,
    plain: Vec<u8>,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self { inflate: Decompress::new(false), plain: Vec::new() }
    }

    /// The interval, or why it cannot be read.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<Interval, String> {
        self.inflate(packed)?;
        let end = self.plain.iter().position(|&byte| byte == END_OF_FIGURES);
        let (figures, rest) = self.plain.split_at(end.ok_or("its figures have no end")?);
        let mut interval: Interval = serde_json::from_slice(figures).map_err(|error| error.to_string())?;
        let mut rest = Rest(&rest[1..]);
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

    fn inflate(&mut self, packed: &[u8]) -> Result<(), String> {
        self.inflate.reset(false);
        self.plain.clear();
        loop {
            if self.plain.len() == self.plain.capacity() {
                if self.plain.len() >= PLAIN_MAX {
                    return Err(format!("it is longer than {PLAIN_MAX} bytes"));
                }
                self.plain.reserve(self.plain.len().max(16 << 10));
            }
            let from = usize::try_from(self.inflate.total_in()).unwrap_or(usize::MAX);
            let status = packed
                .get(from..)
                .map(|packed| self.inflate.decompress_vec(packed, &mut self.plain, FlushDecompress::None));
            match status {
                Some(Ok(Status::StreamEnd)) => return Ok(()),
                Some(Ok(_)) if self.plain.len() == self.plain.capacity() => {}
                _ => return Err("it is not deflated as it should be".to_owned()),
            }
        }
    }
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or("its distributions are cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn histogram(&mut self) -> Result<SparseHistogram, String> {
        let length = self.take(4)?.try_into().map(u32::from_le_bytes).expect("these are four");
        let packed = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
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
        let (mut packer, mut unpacker) = (Packer::new(), Unpacker::new());
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
        let mut packer = Packer::new();
        let mut bytes = |latencies| packer.pack(&of(latencies)).expect("it can be written").len();
        let once = bytes([None, None]);
        let shared = bytes([Some(latency(40)), Some(latency(40))]);
        assert!(shared < once + 100, "{shared} against {once}");
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let packed = Packer::new().pack(&of([Some(latency(41)), None])).expect("it can be written");
        let mut unpacker = Unpacker::new();
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
    fn what_does_not_end_is_not_read_to_its_end() {
        let mut deflate = Compress::new(Compression::new(9), false);
        let mut packed = Vec::with_capacity(1 << 20);
        deflate
            .compress_vec(&vec![b' '; 2 * PLAIN_MAX], &mut packed, FlushCompress::Finish)
            .expect("deflate takes everything");
        assert!(Unpacker::new().unpack(&packed).is_err_and(|reason| reason.contains("longer")));
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
