//! Definitions as the model has them: each storage definition of a run is a stream, the workloads that meet on it are
//! its mix, and what a run goes through is a sweep where one stage can say it, else a stage each.

use super::definitions::{Defined, Flags, Loop, Part, Rd, Seek, Speed, Wd, Which, default_wd};
use super::{APPROXIMATE, BAD_VALUE, NOT_IMPORTED};
use crate::names::Names;
use fathom_model::{
    Access, Amount, BlockSizes, Diagnostics, Durability, Job, Literal, MixLine, Named, OnError, Rate, Span,
    StageOptions, StreamOptions, Sweep, TargetOptions, WorkloadOptions,
};
use fathom_units::{Bytes, Iops, Nanos, Ratio};
use std::collections::BTreeMap;

/// Steps and streams that a file may come to: more than anyone waits for.
const STEPS_MAX: usize = 10_000;
const STREAMS_MAX: usize = 20_000;
/// What shares become weights of a flow by: their parts in a thousand, the most that a weight is.
const WEIGHTS: f64 = 1000.0;

/// Adds the sections of all definitions to a job.
pub(super) fn lower(defined: &Defined, job: &mut Job, found: &mut Diagnostics) {
    job.run.on_error.set(OnError::Count(defined.data_errors), Span::default());
    if let Some(first) = defined.rds.first() {
        job.run.interval.set(time(first.interval_s), first.span);
        if let Some(other) = defined.rds.iter().find(|rd| rd.interval_s != first.interval_s) {
            let message = format!("all runs have intervals of {} s, as the first", first.interval_s);
            found.warn(
                APPROXIMATE,
                other.span,
                message,
                "figures are the same; only their resolution differs",
            );
        }
    }
    for sd in &defined.sds {
        let mut target = Named::<TargetOptions>::new(&sd.name, sd.span);
        target.options.path.set(vec![sd.lun.clone()], sd.span);
        if let Some(size) = sd.size {
            target.options.size.set(Amount::Bytes(Bytes(size)), sd.span);
        }
        job.targets.push(target);
    }
    let names = [Names::default(), Names::default(), Names::default()];
    let mut lowering = Lowering { defined, job, found, names, workloads: BTreeMap::new() };
    for rd in &defined.rds {
        lowering.run(rd);
    }
}

/// What one step of a run has in place of what its definitions say.
#[derive(Debug, Clone, Default)]
struct Point {
    size: Option<u64>,
    threads: Option<u32>,
    read: Option<Ratio>,
    seek: Option<Seek>,
    speed: Option<Speed>,
}

/// A workload on one target: its place, and its share of all operations.
type Aimed<'a> = (&'a Wd, f64);

struct Lowering<'a> {
    defined: &'a Defined,
    job: &'a mut Job,
    found: &'a mut Diagnostics,
    /// Of workloads, streams and stages.
    names: [Names; 3],
    /// Names of the workload sections that are there, by what they say.
    workloads: BTreeMap<String, String>,
}

impl Lowering<'_> {
    fn run(&mut self, rd: &Rd) {
        let own = [default_wd(&rd.name, rd.span)];
        let wds: Vec<&Wd> = if rd.wds.is_empty() {
            own.iter().collect()
        } else {
            rd.wds.iter().map(|&at| &self.defined.wds[at]).collect()
        };
        let Some(shares) = self.shares(rd, &wds) else { return };
        let all: Vec<usize> = (0..self.defined.sds.len()).collect();
        match &rd.which {
            Which::OfWorkloads => self.steps(rd, &rd.name, &wds, &shares, None),
            Which::These(sds) => self.steps(rd, &rd.name, &wds, &shares, Some(sds)),
            Which::Single => {
                for &at in &all {
                    let name = format!("{}_{}", rd.name, self.defined.sds[at].name);
                    self.steps(rd, &name, &wds, &shares, Some(&[at]));
                }
            }
            Which::Growing => {
                for &at in &all {
                    let (first, last) = (&self.defined.sds[0].name, &self.defined.sds[at].name);
                    let name = format!("{}_{first}-{last}", rd.name);
                    self.steps(rd, &name, &wds, &shares, Some(&all[..=at]));
                }
            }
        }
    }

    /// Shares of the operations, in all 1: those that are given, and the rest in equal parts.
    fn shares(&mut self, rd: &Rd, wds: &[&Wd]) -> Option<Vec<f64>> {
        let given: f64 = wds.iter().filter_map(|wd| wd.skew).sum();
        let open = wds.iter().filter(|wd| wd.skew.is_none()).count();
        let is_right = if open == 0 { (given - 100.0).abs() <= 1e-4 } else { given < 100.0 };
        if !is_right {
            let message = format!("the skews of the workloads of {} sum to {given} %", rd.name);
            self.found.error(
                BAD_VALUE,
                rd.span,
                message,
                "let them sum to 100, or leave some out for the rest",
            );
            return None;
        }
        let rest = (100.0 - given) / open.max(1) as f64;
        Some(wds.iter().map(|wd| wd.skew.unwrap_or(rest) / 100.0).collect())
    }

    /// All steps of a run on its storage definitions.
    fn steps(&mut self, rd: &Rd, name: &str, wds: &[&Wd], shares: &[f64], sds: Option<&[usize]>) {
        if sds.is_none() {
            // It would vanish with its share, and the others run at theirs.
            let without: Vec<&&Wd> = wds.iter().filter(|wd| wd.sds.is_empty()).collect();
            for wd in &without {
                let message = format!("the workload {} of {name} has no storage definition", wd.name);
                self.refuse(BAD_VALUE, wd.span, message, "name some with sd= in the wd or the rd");
            }
            if !without.is_empty() {
                return;
            }
        }
        let mut aimed: BTreeMap<usize, Vec<Aimed<'_>>> = BTreeMap::new();
        for (&wd, share) in wds.iter().zip(shares) {
            let sds = sds.unwrap_or(&wd.sds);
            for &sd in sds {
                aimed.entry(sd).or_default().push((wd, share / sds.len() as f64));
            }
        }
        let totals: Vec<f64> = aimed.values().map(|wds| wds.iter().map(|(_, share)| share).sum()).collect();
        let is_even = totals.iter().all(|total| (total - totals[0]).abs() < 1e-9);
        let is_one = aimed.values().all(|on| matches!(on[..], [(wd, _)] if std::ptr::eq(wd, wds[0])));
        let mut first = Point::default();
        // What differs from step to step; the rate, which is innermost, last.
        let mut loops: Vec<Loop> = Vec::new();
        for one in &rd.loops {
            if one.len() > 1 { loops.push(one.clone()) } else { one.set(0, &mut first) }
        }
        let steps = loops.iter().map(Loop::len).fold(rd.speeds.len(), usize::saturating_mul);
        let is_sweep = is_even && is_one;
        let streams = aimed.len().saturating_mul(if is_sweep { 1 } else { steps });
        if self.job.stages.len().saturating_add(steps) > STEPS_MAX
            || self.job.streams.len().saturating_add(streams) > STREAMS_MAX
        {
            let message = format!("{name} comes to more than {STEPS_MAX} steps or {STREAMS_MAX} streams");
            return self.found.error(BAD_VALUE, rd.span, message, "go through fewer values");
        }
        if is_sweep {
            return self.sweep(rd, name, &aimed, first, &loops);
        }
        let mut points = vec![(Vec::new(), first)];
        for one in &loops {
            let each = |(label, point): &(Vec<String>, Point), at: usize| {
                let (mut label, mut point) = (label.clone(), point.clone());
                label.push(one.label(at));
                one.set(at, &mut point);
                (label, point)
            };
            points = points.iter().flat_map(|outer| (0..one.len()).map(move |at| each(outer, at))).collect();
        }
        for (label, point) in points {
            for &speed in &rd.speeds {
                let mut label = label.clone();
                if rd.speeds.len() > 1 {
                    label.push(format!("iorate={}", printed(speed, 1.0)));
                }
                let name =
                    if label.is_empty() { name.to_owned() } else { format!("{name} {}", label.join(" ")) };
                let point = Point { speed: Some(speed), ..point.clone() };
                self.stage(rd, &name, &aimed, &point, Sweep::default());
            }
        }
    }

    /// One stage that goes through all values: its streams differ in nothing but their targets.
    fn sweep(
        &mut self,
        rd: &Rd,
        name: &str,
        aimed: &BTreeMap<usize, Vec<Aimed<'_>>>,
        mut point: Point,
        loops: &[Loop],
    ) {
        let workload = |option: &str| format!("workload.{option}");
        let mut dimensions: Vec<(String, Vec<Literal>)> = Vec::new();
        for one in loops {
            one.set(0, &mut point);
            let path = match one {
                Loop::Sizes(_) => workload("block_size"),
                Loop::Reads(_) => workload("read"),
                Loop::Seeks(_) => workload("access"),
                Loop::Threads(_) => "stream.queue_depth".to_owned(),
            };
            dimensions.push((path, (0..one.len()).map(|at| one.literal(at)).collect()));
        }
        if rd.speeds.len() > 1 {
            let share = 1.0 / aimed.len() as f64;
            let rates = rd.speeds.iter().map(|&speed| Literal::Text(printed(speed, share)));
            dimensions.push(("stream.rate".to_owned(), rates.collect()));
        }
        point.speed = rd.speeds.first().copied();
        self.stage(rd, name, aimed, &point, Sweep { dimensions });
    }

    fn stage(
        &mut self,
        rd: &Rd,
        name: &str,
        aimed: &BTreeMap<usize, Vec<Aimed<'_>>>,
        point: &Point,
        sweep: Sweep,
    ) {
        let name = self.names[2].unique(name);
        let all_bytes: f64 = aimed.values().map(|wds| bytes_each(wds, point)).sum();
        let stream = |&sd: &usize| self.stream(rd, &name, sd, aimed, point, all_bytes);
        let streams: Vec<String> = aimed.keys().map(stream).collect();
        let mut stage = Named::<StageOptions>::new(name, rd.span);
        let options = &mut stage.options;
        options.streams.set(streams, rd.span);
        // Without a warm-up the averages leave the first interval out.
        let (ramp, measured) = match rd.warmup_s {
            0.0 => (rd.interval_s, rd.elapsed_s - rd.interval_s),
            warmup => (warmup, rd.elapsed_s),
        };
        options.ramp.set(time(ramp), rd.span);
        options.time.set(time(measured), rd.span);
        if rd.pause_s > 0.0 {
            options.pause.set(time(rd.pause_s), rd.span);
        }
        if point.speed == Some(Speed::Curve) {
            options.curve.set(rd.curve.iter().map(|&percent| Ratio::percent(percent)).collect(), rd.span);
        }
        if !sweep.dimensions.is_empty() {
            options.sweep.set(sweep, rd.span);
        }
        self.job.stages.push(stage);
    }

    /// `all_bytes` is what an operation of the stage moves on average.
    fn stream(
        &mut self,
        rd: &Rd,
        stage: &str,
        sd: usize,
        aimed: &BTreeMap<usize, Vec<Aimed<'_>>>,
        point: &Point,
        all_bytes: f64,
    ) -> String {
        let (place, wds, streams) = (&self.defined.sds[sd], &aimed[&sd], aimed.len());
        let total: f64 = wds.iter().map(|(_, share)| share).sum();
        let is_controlled = aimed.values().flatten().any(|(wd, _)| wd.skew.is_some());
        let workload = self.workload(rd, sd, wds, point);
        let mut options = StreamOptions::default();
        options.workload.set(workload, rd.span);
        options.targets.set(vec![place.name.clone()], place.span);
        options.queue_depth.set(point.threads.unwrap_or(place.threads), rd.span);
        match point.speed {
            Some(Speed::Rate(rate)) => options.rate.set(Rate::Operations(Iops(rate * total)), rd.span),
            // With shares, a slow target holds the others up.
            _ if is_controlled && streams > 1 => {
                let weight = (total * WEIGHTS).round().clamp(1.0, WEIGHTS);
                options.flow.set(1, rd.span);
                options
                    .flow_weight
                    .set(u32::try_from(super::definitions::whole(weight)).unwrap_or(1), rd.span);
            }
            _ => {}
        }
        if rd.speeds.iter().any(|speed| *speed != Speed::Max) {
            options.arrival.set(rd.distribution, rd.span);
        }
        self.set_flags(&mut options, rd, sd, wds);
        self.set_part(&mut options, rd, sd, wds, point);
        let ends = |(wd, _): &Aimed<'_>| point.seek.unwrap_or(wd.seek) == Seek::ToEnd;
        if wds.iter().all(ends) {
            options.passes.set(1, rd.span);
        } else if wds.iter().any(ends) {
            let message = format!("workloads with and without seekpct=eof meet on {}", place.name);
            self.refuse(NOT_IMPORTED, wds[0].0.span, message, "give each its own sd");
        }
        match rd.maxdata {
            Some(share) if share <= 1.0 => {
                options.bytes.set(Amount::Share(Ratio::percent(share * 100.0)), rd.span);
            }
            Some(bytes) => {
                // As all streams together come to them at their shares.
                let each = super::definitions::whole(bytes * bytes_each(wds, point) / all_bytes);
                options.bytes.set(Amount::Bytes(Bytes(each.max(1))), rd.span);
            }
            None => {}
        }
        let name = if streams > 1 { format!("{stage} on {}", place.name) } else { stage.to_owned() };
        let name = self.names[1].unique(&name);
        self.job.streams.push(Named { name: name.clone(), span: rd.span, options });
        name
    }

    /// Refuses something, once for all steps and streams that would have it.
    fn refuse(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        let is_told = |one: &fathom_model::Diagnostic| one.span == Some(span) && one.message == message;
        if !self.found.all().iter().any(is_told) {
            self.found.error(code, span, message, help);
        }
    }

    /// How the target is opened: as the run says, else the workload, else the storage definition.
    fn set_flags(&mut self, options: &mut StreamOptions, rd: &Rd, sd: usize, wds: &[Aimed<'_>]) {
        let place = &self.defined.sds[sd];
        let is_raw = place.lun.starts_with("/dev/");
        let otherwise = Flags { is_direct: is_raw, ..Flags::default() };
        let of = |(wd, _): &Aimed<'_>| rd.flags.or(wd.flags).or(place.flags);
        let flags = of(&wds[0]).unwrap_or(otherwise);
        if wds.iter().any(|one| of(one).unwrap_or(otherwise) != flags) {
            let message = format!("workloads with openflags of their own meet on {}", place.name);
            return self.refuse(
                NOT_IMPORTED,
                wds[0].0.span,
                message,
                "give each its own sd with those openflags",
            );
        }
        let given = wds.iter().find_map(of);
        if given.is_none() && is_raw && !self.found.all().iter().any(|one| one.span == Some(place.span)) {
            let message = format!("{} is opened with o_direct, which Vdbench asks for on Linux", place.lun);
            self.found.warn(APPROXIMATE, place.span, message, "write openflags=o_direct");
        }
        let Flags { is_direct, syncs_data, syncs_all } = flags;
        options.direct.set(is_direct, place.span);
        if syncs_all || syncs_data {
            let durability = if syncs_all { Durability::All } else { Durability::Data };
            options.durability.set(durability, place.span);
        }
    }

    /// The part of the target that is used. The first block of a raw device never is.
    fn set_part(
        &mut self,
        options: &mut StreamOptions,
        rd: &Rd,
        sd: usize,
        wds: &[Aimed<'_>],
        point: &Point,
    ) {
        let place = &self.defined.sds[sd];
        let parts: Vec<Option<Part>> = wds.iter().map(|(wd, _)| wd.part.or(place.part)).collect();
        if parts.iter().any(|part| *part != parts[0]) {
            let message = format!("workloads with ranges of their own meet on {}", place.name);
            let help = "give each its own sd with that range";
            return self.refuse(NOT_IMPORTED, wds[0].0.span, message, help);
        }
        if place.offset > 0 && parts[0].is_some() {
            let message = format!("offset and range together on {} are not imported", place.name);
            return self.refuse(NOT_IMPORTED, place.span, message, "write one of them");
        }
        let of_loops = rd.loops.iter().filter_map(|one| match one {
            Loop::Sizes(sizes) => sizes.iter().max().copied(),
            _ => None,
        });
        let of_wds = wds.iter().flat_map(|(wd, _)| &wd.sizes.sizes).map(|(_, _, max, _)| max.0);
        let largest = point.size.into_iter().chain(of_loops).chain(of_wds).max().unwrap_or(0);
        let first = if place.lun.starts_with("/dev/") { largest } else { 0 };
        let bytes = |count: u64| Amount::Bytes(Bytes(count));
        match parts[0] {
            None if place.offset.max(first) > 0 => {
                options.offset.set(bytes(place.offset.max(first)), place.span);
            }
            None => {}
            Some(Part::Bytes(low, high)) => {
                let low = low.max(first);
                options.offset.set(bytes(low), place.span);
                options.size.set(bytes(high.saturating_sub(low)), place.span);
            }
            Some(Part::Shares(low, high)) => {
                let share = |share: f64| Amount::Share(Ratio::percent(share * 100.0));
                options.offset.set(if low > 0.0 { share(low) } else { bytes(first) }, place.span);
                if high < 1.0 {
                    options.size.set(share(high - low), place.span);
                }
            }
        }
    }

    /// Name of the section of the workloads that meet on a target.
    fn workload(&mut self, rd: &Rd, sd: usize, wds: &[Aimed<'_>], point: &Point) -> String {
        let place = &self.defined.sds[sd];
        let total: f64 = wds.iter().map(|(_, share)| share).sum();
        let line = |&(wd, share): &Aimed<'_>| MixLine {
            share: if wds.len() == 1 { 100.0 } else { 100.0 * share / total },
            block_size: point.size.map_or_else(|| wd.sizes.clone(), |size| BlockSizes::fixed(Bytes(size))),
            read: point.read.unwrap_or(wd.read),
            trim: Ratio::ZERO,
            access: access(point.seek.unwrap_or(wd.seek)),
            align: None,
            reply: None,
        };
        let lines: Vec<MixLine> = wds.iter().map(line).collect();
        let names: Vec<&str> = wds.iter().map(|(wd, _)| wd.name.as_str()).collect();
        let key = format!("{lines:?}{names:?}{:?}", place.align);
        if let Some(name) = self.workloads.get(&key) {
            return name.clone();
        }
        let is_random = lines.iter().any(|line| line.access.random > Ratio::ZERO);
        let sizes = lines.iter().flat_map(|line| &line.block_size.sizes);
        let bounds: Vec<Bytes> = sizes.flat_map(|&(_, min, max, _)| [min, max]).collect();
        if place.align.is_none() && is_random && bounds.iter().any(|bound| *bound != bounds[0]) {
            let message = "random operations of all sizes begin at multiples of the smallest";
            let help = "Vdbench begins each at a multiple of its own size";
            self.found.warn(APPROXIMATE, wds[0].0.span, message, help);
        }
        let name = self.names[0].unique(&names.join(" + "));
        let mut workload = Named::<WorkloadOptions>::new(&name, wds[0].0.span);
        let (options, span) = (&mut workload.options, wds[0].0.span);
        match <[MixLine; 1]>::try_from(lines) {
            Ok([MixLine { share: _, block_size, read, trim: _, access, align: _, reply: _ }]) => {
                options.block_size.set(block_size, span);
                options.read.set(read, span);
                options.access.set(access, span);
            }
            Err(lines) => options.mix.set(lines, span),
        }
        if let Some(align) = place.align {
            options.align.set(Bytes(align), place.span);
        }
        if self.defined.compratio > 1.0 {
            options.compressible.set(Ratio::percent(100.0 - 100.0 / self.defined.compratio), rd.span);
        }
        self.job.workloads.push(workload);
        self.workloads.insert(key, name.clone());
        name
    }
}

impl Loop {
    fn len(&self) -> usize {
        match self {
            Self::Sizes(values) => values.len(),
            Self::Threads(values) => values.len(),
            Self::Reads(values) => values.len(),
            Self::Seeks(values) => values.len(),
        }
    }

    /// Puts one of its values in place.
    fn set(&self, at: usize, point: &mut Point) {
        match self {
            Self::Sizes(values) => point.size = Some(values[at]),
            Self::Threads(values) => point.threads = Some(values[at]),
            Self::Reads(values) => point.read = Some(values[at]),
            Self::Seeks(values) => point.seek = Some(values[at]),
        }
    }

    /// One of its values in words of the model.
    fn literal(&self, at: usize) -> Literal {
        let text = match self {
            Self::Sizes(values) => Bytes(values[at]).to_string().replace(' ', ""),
            Self::Threads(values) => return Literal::Integer(values[at].into()),
            Self::Reads(values) => values[at].to_string(),
            Self::Seeks(values) => match access(values[at]).random {
                share if share == Ratio::ZERO => "sequential".to_owned(),
                share if share == Ratio::ONE => "random".to_owned(),
                share => format!("{share} random"),
            },
        };
        Literal::Text(text)
    }

    fn label(&self, at: usize) -> String {
        let name = match self {
            Self::Sizes(_) => "xfersize",
            Self::Threads(_) => "threads",
            Self::Reads(_) => "rdpct",
            Self::Seeks(_) => "seekpct",
        };
        match self.literal(at) {
            Literal::Text(text) => format!("{name}={text}"),
            other => format!("{name}={}", other.print()),
        }
    }
}

/// What an operation of the stage moves on a target on average, in bytes: its share of the operations times their sizes.
fn bytes_each(wds: &[Aimed<'_>], point: &Point) -> f64 {
    let mean = |sizes: &BlockSizes| {
        let weight: f64 = sizes.sizes.iter().map(|(weight, ..)| weight).sum();
        let sum = |&(weight, min, max, _): &(f64, Bytes, Bytes, Bytes)| weight * (min.0 + max.0) as f64 / 2.0;
        sizes.sizes.iter().map(sum).sum::<f64>() / weight
    };
    let size = |wd: &Wd| point.size.map_or_else(|| mean(&wd.sizes), |size| size as f64);
    wds.iter().map(|(wd, share)| share * size(wd)).sum()
}

fn access(seek: Seek) -> Access {
    match seek {
        Seek::Share(random) => Access { random },
        Seek::ToEnd => Access { random: Ratio::ZERO },
    }
}

/// A rate in words of the model, of which a stream has a share.
fn printed(speed: Speed, share: f64) -> String {
    match speed {
        Speed::Rate(rate) => format!("{}/s", rate * share),
        Speed::Max | Speed::Curve => "max".to_owned(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are bounded where they are read"
)]
fn time(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}
