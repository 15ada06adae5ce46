//! The head of a test's report: the fields that the standard's reports have on every page. Owns their names and order; the facts
//! are `fathom_analysis::pts`'s.

use crate::calendar;
use crate::table::{left, visible};
use crate::tables::{Table, seconds};
use fathom_analysis::pts::{
    Answer, Blocks, Cell, Conditioning, Flow, PartAnswer, PartKind, RoundsAnswer, Setup, TargetSetup,
    deviations, purge_words,
};
use fathom_schema::{Content, Fill, Freshness, IoMode, SteadyQuestion, SteadyTest};
use fathom_units::{Bytes, Nanos};

/// The fields of the head: what it is, and what was found.
pub(super) fn fields(answer: &Answer) -> Table {
    let Answer { question, setup, .. } = answer;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push(vec![name.to_owned(), value]);
        }
    };
    let standard = question.class.standard();
    let manner = if deviations(question).is_empty() {
        String::new()
    } else {
        format!("; not PTS: {}", deviations(question).join(", "))
    };
    add("test", format!("{} ({standard}, after PTS 2.0.1){manner}", title(question.test)));
    add("test run", format!("{}, {}", setup.run, calendar::date_time(setup.wall_ms)));
    add("test software", format!("fathom {}", setup.tool_version));
    add("platform", platform(setup));
    for target in &setup.targets {
        add("device", device(target));
    }
    if setup.targets_count > setup.targets.len() {
        add("device", format!("and {} more", setup.targets_count - setup.targets.len()));
    }
    add("user capacity", setup.capacity.map_or_else(String::new, Bytes::approximate));
    add("access", access(setup));
    add("data pattern", setup.content.as_ref().map_or_else(String::new, pattern));
    add("active range", active_range(setup));
    add("active range segments", segments(setup.segments));
    add("purge", visible(&purge_words(question)));
    let fills: Vec<String> = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            PartAnswer::Conditioning(found) if found.title.starts_with("preconditioning") => {
                Some(fill(found))
            }
            _ => None,
        })
        .collect();
    let none = "none, as the standard wants it for this test".to_owned();
    add("preconditioning 1", if fills.is_empty() { none } else { fills.join("; ") });
    // A test that is preconditioned by rounds of their own is steady twice.
    let is_conditioning = |found: &&RoundsAnswer| found.title == "preconditioning";
    let is_apart = rounds_of(answer).any(|found| is_conditioning(&found));
    for found in rounds_of(answer) {
        let is_test = is_apart && !is_conditioning(&found);
        add(if is_test { "steady state" } else { "preconditioning 2" }, dependent(found));
    }
    for found in rounds_of(answer).filter(|found| !is_conditioning(found)) {
        add("test parameters", parameters(found));
    }
    for stimuli in stimuli(question) {
        add("test parameters", stimuli);
    }
    add("total written", setup_written(setup));
    Table { columns: vec![left("field"), left("value")], rows, remark: None }
}

fn rounds_of(answer: &Answer) -> impl Iterator<Item = &RoundsAnswer> {
    answer.parts.iter().filter_map(|part| match part {
        PartAnswer::Rounds(found) => Some(&**found),
        PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
    })
}

const fn title(test: SteadyTest) -> &'static str {
    match test {
        SteadyTest::Iops => "IOPS test",
        SteadyTest::Throughput => "throughput test",
        SteadyTest::Latency => "latency test",
        SteadyTest::Wsat => "write saturation test",
        SteadyTest::Hir => "host idle recovery test",
        SteadyTest::Xsr => "cross stimulus recovery test",
        SteadyTest::Composite => "client composite workload test",
        SteadyTest::Dirth => "demand intensity response time histogram test",
    }
}

fn platform(setup: &Setup) -> String {
    let cpu = if setup.cpu.is_empty() { "unknown model" } else { &setup.cpu };
    let kernel =
        setup.kernel.as_ref().map_or_else(String::new, |kernel| format!(", Linux {}", visible(kernel)));
    let memory = setup.memory.approximate();
    format!("{}: {} CPUs ({}), {memory} of memory{kernel}", visible(&setup.host), setup.cpus, visible(cpu))
}

fn device(target: &TargetSetup) -> String {
    let TargetSetup { name, model, serial, size, facts } = target;
    let serial = if serial.is_empty() { String::new() } else { format!("serial {serial}") };
    let size = size.map_or_else(String::new, Bytes::approximate);
    let facts = facts.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
    let all = [model.trim().to_owned(), serial, size].into_iter().chain(facts);
    let told: Vec<String> =
        std::iter::once(name.clone()).chain(all.filter(|text| !text.is_empty())).collect();
    visible(&told.join(", "))
}

fn access(setup: &Setup) -> String {
    let Some(engine) = setup.engine else { return String::new() };
    let mode = match setup.mode {
        Some(IoMode::Direct) => ", direct",
        Some(IoMode::Buffered) => ", through the page cache",
        None => "",
    };
    format!("{}{mode}", engine.name())
}

fn pattern(content: &Content) -> String {
    let Content { fill, freshness, compressible, compress_chunk_bytes: _, dedupable, repeats: _ } = content;
    let fill = match fill {
        Fill::Random => "random",
        Fill::Zero => "zeros",
        Fill::Pattern(_) if compressible.value() > 0.0 => "random and a pattern",
        Fill::Pattern(_) => "a pattern, repeated",
    };
    let fresh = match freshness {
        Freshness::Every => ", new for every write",
        Freshness::Scrambled => ", changed a little from write to write",
        Freshness::Never => ", the same for all writes",
    };
    let share = |share: f64, what: &str| {
        if share > 0.0 { format!(", {:.0} % of it {what}", share * 100.0) } else { String::new() }
    };
    let compressible = share(compressible.value(), "compressible");
    format!("{fill}{fresh}{compressible}{}", share(dedupable.value(), "duplicate"))
}

fn active_range(setup: &Setup) -> String {
    let range = setup.active_range;
    if range.0 == 0 {
        return String::new();
    }
    match setup.capacity.filter(|capacity| capacity.0 > 0) {
        Some(capacity) => {
            let share = range.0 as f64 / capacity.0 as f64 * 100.0;
            format!("{}, {share:.0} % of the user capacity", range.approximate())
        }
        None => range.approximate(),
    }
}

fn segments(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1, contiguous from the beginning".to_owned(),
        count => format!("{count}, one per target, each contiguous from its beginning"),
    }
}

fn fill(found: &Conditioning) -> String {
    let Conditioning { title, elapsed, bytes } = found;
    let elapsed = elapsed.map_or_else(
        || "did not come to its end".to_owned(),
        |elapsed| format!("{} in {}", Bytes(*bytes).approximate(), elapsed.approximate()),
    );
    format!("{}, T1Q32: {elapsed}", title.trim_start_matches("preconditioning: "))
}

/// The test's own load, until it is steady.
fn dependent(found: &RoundsAnswer) -> String {
    let state = match found.judgement.steady_at {
        Some(at) => format!("steady at round {at}"),
        None => format!("not steady after {}", super::count(found.tracked.len(), "round")),
    };
    let load = &found.rounds.cells[found.rounds.tracked];
    format!(
        "{}: rounds of the test itself, {state} by {} T{}Q{}",
        found.title,
        load.name(),
        load.threads,
        load.depth
    )
}

/// What rounds go through: R/W outside, block sizes inside, threads and depths.
fn parameters(found: &RoundsAnswer) -> String {
    let cells = &found.rounds.cells;
    let list = |of: fn(&Cell) -> String| {
        let mut all: Vec<String> = Vec::new();
        for one in cells.iter().map(of) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all.join(", ")
    };
    let access = list(|cell| if cell.is_random { "RND" } else { "SEQ" }.to_owned());
    let mixes = list(|cell| format!("{}/{}", cell.read_percent, 100 - cell.read_percent));
    let blocks = list(|cell| match cell.blocks {
        Blocks::Of(bytes) => Bytes(u64::from(bytes)).to_string(),
        Blocks::Composite => "composite of 0.5 to 64 KiB".to_owned(),
    });
    let loads = list(|cell| format!("T{}Q{}", cell.threads, cell.depth));
    let rounds = match found.window.len() {
        0 => "no whole round".to_owned(),
        _ => format!("rounds {} to {}", found.window.start + 1, found.window.end),
    };
    format!("{}: {access}, R/W {mixes}, blocks of {blocks}; TC/QD {loads}; {rounds}", found.title)
}

/// What loads that come once, or in a row, consist of, and for how long the targets idle before them.
fn stimuli(question: &SteadyQuestion) -> Vec<String> {
    let flow = Flow::of(question);
    let sequences: Vec<(&str, &[Cell])> = flow
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Sequence(cells) => Some((part.title.as_str(), cells.as_slice())),
            PartKind::Purge | PartKind::Fill(_) | PartKind::Rounds(_) | PartKind::OperatingPoints => None,
        })
        .collect();
    let load = |cell: &Cell| format!("{} T{}Q{}", cell.name(), cell.threads, cell.depth);
    let time = |time: Nanos| seconds(time.as_secs_f64());
    match (question.test, sequences.as_slice()) {
        (SteadyTest::Hir, [(_, bursts), (_, back), ..]) => {
            let idle = |(_, cells): &(&str, &[Cell])| cells.first().map(|cell| cell.pause);
            let idle = sequences.iter().filter_map(idle).filter(|pause| *pause > Nanos::ZERO);
            let idle: Vec<String> = idle.map(time).collect();
            let back = back.first().map_or_else(String::new, |cell| time(cell.time));
            let burst = &bursts[0];
            vec![format!(
                "idle recovery: {} bursts of {} of {} for each idle time; idle {} before each burst; {back} without a pause after \
                 each idle time",
                bursts.len(),
                time(burst.time),
                load(burst),
                idle.join(", ")
            )]
        }
        (SteadyTest::Xsr, [(_, cells)]) => {
            // The third is the first again.
            let number = |at: usize| cells.iter().position(|cell| *cell == cells[at]).unwrap_or(at) + 1;
            let of = |(at, cell): (usize, &Cell)| {
                format!("stimulus {}: {} for {}", number(at), load(cell), time(cell.time))
            };
            vec![cells.iter().enumerate().map(of).collect::<Vec<_>>().join("; ")]
        }
        _ => sequences
            .iter()
            .filter_map(|(title, cells)| {
                let cell = cells.first()?;
                Some(format!("{title}: {} for {}", load(cell), time(cell.time)))
            })
            .collect(),
    }
}

fn setup_written(setup: &Setup) -> String {
    let Setup { written, active_range, .. } = setup;
    if written.0 == 0 || active_range.0 == 0 {
        return String::new();
    }
    let fills = written.0 as f64 / active_range.0 as f64;
    format!("{}, {fills:.2} fills of the active range", written.approximate())
}
