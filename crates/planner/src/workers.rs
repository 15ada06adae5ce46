//! The workers of a stream: how they divide its region, which CPUs and seeds they get, how much each has to do.
//!
//! A worker here is a thread that keeps a queue; a synchronous engine's worker of depth 8 has become 8 lanes of depth 1
//! before. It does not know engines or targets.

use crate::lengths::Grown;
use crate::operations::Operations;
use crate::regions;
use crate::remarks::Remarks;
use crate::seeds;
use crate::targets::Addressed;
use fathom_model::{Amount, CpusPolicy, Dialect, Named, StreamOptions, WorkerRegions};
use fathom_schema::{Arrival, Coverage, KindOrder, Pacing, Verification};
use fathom_schema::{
    Extent, FileOrder, NoteKind, OperationKind, PassEnd, Passes, Quota, Severity, SharePart, WorkerPlan,
    Workload, Zones,
};
use fathom_units::{Bytes, saturating_sum};

/// Parts of targets over all workers of one step, at most. An extent costs 24 bytes in the plan and about as much in
/// the record; a million is 1,000 workers on 1,000 files each.
pub(crate) const EXTENTS_MAX: u64 = 1_000_000;

/// What `plans` decides from.
pub(crate) struct Crew<'a> {
    pub stream: &'a Named<StreamOptions>,
    pub operations: &'a Operations,
    pub sections: &'a [&'a [Addressed]],
    pub pacing: &'a Pacing,
    /// Threads that stand for one worker of the job.
    pub lanes: u32,
    /// Whether there are operations before those that count.
    pub has_ramp: bool,
    pub seed: u64,
    pub dialect: Dialect,
    /// What a job of fio knows of its files.
    pub fios: Option<&'a Grown>,
}

/// The workers, and what one pass over its part is for each of them.
pub(crate) struct Manned {
    pub plans: Vec<WorkerPlan>,
    /// Whole blocks of one worker's part, in bytes: the smallest part's, or where passes end with shares the largest one's.
    pub pass_bytes: u64,
    /// All of it.
    pub region_bytes: u64,
    pub coverage: Coverage,
    /// A pass of each worker ends with what it has of the order that several share, of which some may have a block more.
    pub ends_with_shares: bool,
    /// Nothing fits anywhere, so that nothing is done.
    pub is_idle: bool,
}

impl Crew<'_> {
    /// Divides the region; `None` when it cannot be, which is then among the remarks.
    pub(crate) fn plans(&self, remarks: &mut Remarks) -> Option<Manned> {
        let options = &self.stream.options;
        let first = *options.first_worker.get();
        let numbers = first..first.saturating_add(*options.workers.get());
        let files = self.sections.iter().map(|section| section.len() as u64).sum::<u64>();
        let owned = self.sections.iter().flat_map(|section| section.iter()).any(|item| item.owner.is_some());
        let threads = u64::from(*options.workers.get()) * u64::from(self.lanes);
        let extents = if owned { files * u64::from(self.lanes) } else { files * threads };
        if extents > EXTENTS_MAX {
            let message = format!(
                "the stream \"{}\" has {threads} workers on {files} targets, more than {EXTENTS_MAX} together",
                self.stream.name
            );
            remarks.error(
                "plan.too-large",
                Some(self.stream.span),
                message,
                "use fewer workers or fewer targets",
            );
            return None;
        }
        let apart = owned || *options.offset_per_worker.get() != Amount::Bytes(Bytes::ZERO);
        if apart || *options.worker_regions.get() == WorkerRegions::Same {
            self.each_for_itself(numbers, remarks)
        } else {
            let region =
                regions::of_worker(self.stream, self.operations, first, self.sections, self.fios, remarks)?;
            self.all_together(&region, threads, remarks)
        }
    }

    /// The one worker of a stream that has no more, without its extents.
    pub(crate) fn lone_worker(&self) -> WorkerPlan {
        let number = *self.stream.options.first_worker.get();
        let seed = seeds::of_worker(self.seed, u64::from(number));
        WorkerPlan { extents: Vec::new(), part: part(0, 1), seed, cpus: self.cpus(0) }
    }

    /// The seed of the worker at this place of the stream, with what its draws of kinds begin with where that is given.
    fn with_kind_seed(&self, seed: u64, index: usize) -> u64 {
        let is_redrawn = matches!(self.operations.workload.kinds, KindOrder::Redrawn { .. });
        let given = self.stream.options.kind_seeds.get().and_then(|seeds| seeds.get(index));
        given.filter(|_| is_redrawn).map_or(seed, |&given| seed >> 32 << 32 | u64::from(given))
    }

    /// Every worker has a region of its own, or the same one for itself; only its lanes divide it.
    fn each_for_itself(&self, numbers: std::ops::Range<u32>, remarks: &mut Remarks) -> Option<Manned> {
        let (lanes, first) = (u64::from(self.lanes), numbers.start);
        let threads = numbers.len() as u64 * lanes;
        let open = matches!(self.pacing, Pacing::Open { .. });
        let mut coverage = self.operations.workload.coverage;
        if open && coverage == Coverage::OncePerPass && numbers.len() > 1 {
            // The part of a worker says both which arrivals and which blocks are its own; here they differ.
            coverage = Coverage::Independent;
            remarks.note(
                NoteKind::Job,
                Severity::Info,
                format!(
                    "the workers of the stream \"{}\" share a rate but not a region, so their draws are independent, \
                     not once per pass",
                    self.stream.name
                ),
            );
        }
        let is_cut = self.is_cut(coverage);
        let mut plans = Vec::new();
        for (index, number) in numbers.enumerate() {
            let region =
                regions::of_worker(self.stream, self.operations, number, self.sections, self.fios, remarks)?;
            let parts =
                if is_cut { self.cut(&region, lanes, remarks)? } else { vec![region; self.lanes as usize] };
            let shared = if self.shares_gaps() { first } else { number };
            let shared_seed = seeds::of_worker(self.seed, u64::from(shared));
            for (lane, extents) in parts.into_iter().enumerate() {
                let thread = plans.len() as u64;
                let part = if open { part(thread, threads) } else { part(lane as u64, lanes) };
                let is_shared = !self.operations.sequential && coverage == Coverage::OncePerPass;
                let seed = if is_shared || self.shares_gaps() {
                    shared_seed
                } else {
                    seeds::of_worker(self.seed, u64::from(number) * lanes + lane as u64)
                };
                let is_alone = lanes == 1 && !self.shares_gaps();
                let seed = if is_alone { self.with_kind_seed(seed, index) } else { seed };
                plans.push(WorkerPlan { extents, part, seed, cpus: self.cpus(index as u64) });
            }
        }
        let divisor = if is_cut { 1 } else { lanes };
        self.manned(plans, divisor, coverage, remarks)
    }

    /// Whether workers get parts of a region: sequential ones, and those that verify what they write at random. Two writes of
    /// one place, or a write and its reading back by another, would accuse the device of what they did to each other. Who only
    /// checks what an equal run wrote goes where that went.
    fn is_cut(&self, coverage: Coverage) -> bool {
        let Operations { workload, sequential, verification, .. } = self.operations;
        let writes =
            workload.trim_then_write || workload.cases.iter().any(|case| case.kind == OperationKind::Write);
        // Each has a map of its own; of a once-per-pass order all take their parts.
        let meets = writes && coverage != Coverage::OncePerPass;
        *sequential || meets && matches!(verification, Verification::On(_))
    }

    /// All workers share one region: some in equal slices, the other random ones each everywhere.
    fn all_together(&self, region: &[Extent], threads: u64, remarks: &mut Remarks) -> Option<Manned> {
        let coverage = self.operations.workload.coverage;
        let is_cut = self.is_cut(coverage);
        let parts = if is_cut {
            self.cut(region, threads, remarks)?
        } else {
            vec![region.to_vec(); usize::try_from(threads).expect("bounded by EXTENTS_MAX")]
        };
        let first = u64::from(*self.stream.options.first_worker.get());
        let plan = |(thread, extents): (usize, Vec<Extent>)| WorkerPlan {
            extents,
            part: part(thread as u64, threads),
            // Random workers draw from one sequence and each takes its part of it, so the seed is one.
            seed: if is_cut && !self.shares_gaps() {
                seeds::of_worker(self.seed, first * u64::from(self.lanes) + thread as u64)
            } else {
                seeds::of_worker(self.seed, first)
            },
            cpus: self.cpus(thread as u64 / u64::from(self.lanes)),
        };
        let plans = parts.into_iter().enumerate().map(plan).collect();
        let divisor = if is_cut { 1 } else { threads };
        self.manned(plans, divisor, coverage, remarks)
    }

    fn cut(&self, region: &[Extent], parts: u64, remarks: &mut Remarks) -> Option<Vec<Vec<Extent>>> {
        let unit = self.operations.slice_unit();
        let cut = regions::cut(region, parts, unit);
        if cut.is_none() {
            let bytes = saturating_sum(region.iter().map(|extent| extent.length.0));
            let message = format!(
                "the {} of the stream \"{}\" cannot be divided among {parts} workers in blocks of {}",
                Bytes(bytes),
                self.stream.name,
                Bytes(unit)
            );
            let help = if self.is_cut(Coverage::OncePerPass) {
                "use fewer workers, or worker_regions = \"same\""
            } else {
                "use fewer workers, a smaller queue_depth of a synchronous engine, or coverage = \"once-per-pass\""
            };
            let options = &self.stream.options;
            let place = options.workers.span().or(options.queue_depth.span()).or(Some(self.stream.span));
            remarks.error("plan.region-too-small", place, message, help);
        }
        cut
    }

    /// Whether the workers take their arrivals from one sequence of random gaps or bursts, which they only have with one
    /// seed. What else is random in them differs by their part.
    fn shares_gaps(&self) -> bool {
        match self.pacing {
            Pacing::Closed { .. } => false,
            Pacing::Open { arrival, .. } => {
                !matches!(arrival, Arrival::Constant | Arrival::ByKind | Arrival::Poisson)
            }
        }
    }

    /// CPUs of the worker `index` of the stream, from 0.
    fn cpus(&self, index: u64) -> Vec<u32> {
        let options = &self.stream.options;
        let cpus = options.cpus.get().map_or(&[][..], Vec::as_slice);
        if cpus.is_empty() || *options.cpus_policy.get() == CpusPolicy::Shared {
            return cpus.to_vec();
        }
        let turn = (u64::from(*options.first_worker.get()) + index) % cpus.len() as u64;
        vec![cpus[usize::try_from(turn).expect("below the number of CPUs")]]
    }

    fn manned(
        &self,
        plans: Vec<WorkerPlan>,
        divisor: u64,
        coverage: Coverage,
        remarks: &mut Remarks,
    ) -> Option<Manned> {
        let options = &self.stream.options;
        let longest = plans.iter().flat_map(|plan| &plan.extents).map(|extent| extent.length).max();
        // Who replays a trace draws no places.
        if let Some(longest) = longest.filter(|longest| longest.0 > Extent::LENGTH_MAX)
            && options.trace.span().is_none()
        {
            let most = Bytes(Extent::LENGTH_MAX);
            let message = format!(
                "the stream \"{}\" goes over {longest}; its operations can be placed in {most} at most",
                self.stream.name
            );
            let place = options.size.span().or(Some(self.stream.span));
            remarks.error("plan.region-too-large", place, message, "give it, or its target, a smaller size");
            return None;
        }
        let unit = self.operations.smallest;
        let blocks = |plan: &WorkerPlan| -> u64 {
            let all = saturating_sum(plan.extents.iter().map(|extent| extent.length.0 / unit));
            all.div_ceil(divisor)
        };
        let region = |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(|extent| extent.length.0));
        let region_bytes = plans.iter().map(region).min()?;
        if region_bytes == 0 {
            return Some(self.idle(plans));
        }
        let smallest = plans.iter().map(blocks).min()?;
        let largest = plans.iter().map(blocks).max()?;
        if smallest != largest && self.stream.options.passes.get().is_some() {
            let message = format!(
                "the workers of the stream \"{}\" have parts from {} to {}; a pass of each is that of the smallest",
                self.stream.name,
                Bytes(smallest * unit),
                Bytes(largest * unit)
            );
            let help = "give the stream a size that suits every worker, or use one stream per worker";
            remarks.warn("plan.uneven-workers", Some(self.stream.span), message, help);
        }
        let ends_with_shares = smallest == largest
            && divisor > 1
            && coverage == Coverage::OncePerPass
            && self.can_end_with_shares(&plans, divisor);
        let share = |extent: &Extent| (extent.length.0 / unit).div_ceil(divisor);
        let shares = |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(share));
        let pass_blocks = if ends_with_shares { plans.iter().map(shares).max()? } else { smallest };
        let in_region = |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(|e| e.length.0 / unit));
        if !ends_with_shares
            && let Some(uneven) = plans.iter().map(in_region).find(|blocks| blocks % divisor != 0)
            && self.stream.options.passes.get().is_some()
        {
            let message = format!(
                "the {uneven} blocks of the stream \"{}\" cannot be divided evenly among {divisor} workers; a pass is {} \
                 operations, each worker does as many as the busiest",
                self.stream.name,
                uneven.div_ceil(divisor) * divisor
            );
            let help = "give the stream a size that the number of workers divides";
            remarks.warn("plan.uneven-workers", Some(self.stream.span), message, help);
        }
        let pass_bytes = pass_blocks * unit;
        Some(Manned { plans, pass_bytes, region_bytes, coverage, ends_with_shares, is_idle: false })
    }

    /// Whether the passes of workers that share an order can end with what each has of it, so that all together do every block
    /// once. Where each has as much, and that never ends, a sequence without ends comes to the same.
    fn can_end_with_shares(&self, plans: &[WorkerPlan], divisor: u64) -> bool {
        let options = &self.stream.options;
        let Workload { ends, replies, zones, file_order, .. } = &self.operations.workload;
        let Some(&passes) = options.passes.get() else { return false };
        // What a ramp leaves of a pass is none, and files that are made anew would be so by each worker for itself.
        if self.has_ramp || *options.fresh_files.get() || !replies.is_empty() {
            return false;
        }
        let unit = self.operations.smallest;
        let blocks = || plans.iter().flat_map(|plan| &plan.extents).map(|extent| extent.length.0 / unit);
        // A worker without a block of its own repeats another's.
        if blocks().any(|blocks| blocks < divisor) {
            return false;
        }
        match ends {
            PassEnd::Anew => {
                let is_uneven = blocks().any(|blocks| !blocks.is_multiple_of(divisor));
                // Between two passes a worker waits for what it has in flight; arrivals do not.
                is_uneven && (passes == 1 || matches!(self.pacing, Pacing::Closed { .. }))
            }
            PassEnd::Stop => {
                let is_whole = options.bytes.get().is_none() && options.pass_bytes.get().is_none();
                is_whole && *zones == Zones::None && !matches!(file_order, FileOrder::Skewed { .. })
            }
            PassEnd::Renew => false,
        }
    }

    /// As many passes as are asked for, each of what a worker has of the order that several share.
    pub(crate) fn passes_of_shares(&self, manned: &Manned, remarks: &mut Remarks) -> Passes {
        let options = &self.stream.options;
        let count = options.passes.get().map_or(1, |&passes| u64::from(passes));
        let is_endless = self.operations.workload.ends == PassEnd::Anew;
        if is_endless && count > 1 && self.lanes == 1 && *options.queue_depth.get() > 1 {
            let message = format!(
                "between two passes each worker of the stream \"{}\" waits for what it has in flight, so that all together \
                 do every block once in each; where their number divides that of the blocks, none waits",
                self.stream.name
            );
            remarks.note(NoteKind::Job, Severity::Info, message);
        }
        Passes::Counted { count, bytes: manned.pass_bytes, at_least: 0 }
    }

    /// Workers that have no room for an operation: what they could not do is as large as one.
    fn idle(&self, mut plans: Vec<WorkerPlan>) -> Manned {
        let one = self.operations.largest;
        for extent in plans.iter_mut().flat_map(|plan| &mut plan.extents) {
            extent.length = extent.length.max(Bytes(one));
        }
        let coverage = self.operations.workload.coverage;
        Manned { plans, pass_bytes: one, region_bytes: one, coverage, ends_with_shares: false, is_idle: true }
    }

    /// How often a worker goes through a region that ends, and how many bytes it moves at most. fio's rules: each of its
    /// loops moves `size`, and `io_size` for each of them bounds all; where a pass ends before that, more follow.
    pub(crate) fn passes(&self, manned: &Manned) -> (Passes, Quota) {
        let options = &self.stream.options;
        let asked = options.bytes.get().map(|amount| match *amount {
            Amount::Bytes(bytes) => bytes.0,
            Amount::Share(share) => regions::share_of(share, manned.region_bytes),
        });
        let Some(count) = options.passes.get().map(|&passes| u64::from(passes)).or(asked.map(|_| 1)) else {
            return (Passes::Endless, Quota::Unlimited);
        };
        let first = *options.first_worker.get();
        let has_tails = regions::has_tails(self.stream, self.operations, first, self.sections, self.fios);
        // Those of its files that do not go on behind its part end with the last whole block.
        let all_parts = |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(|extent| extent.length.0));
        let in_parts = manned.plans.iter().map(all_parts).min().unwrap_or(u64::MAX);
        let bytes = match options.pass_bytes.get() {
            Some(bytes) if has_tails => bytes.0.next_multiple_of(self.operations.smallest).min(in_parts),
            Some(bytes) => bytes.0,
            None => manned.region_bytes,
        };
        // What `io_size` does not say, `size` does, which is what is there at most, tails of files that hold no block included.
        let tail = |extent: &Extent| extent.room.0.min(self.operations.smallest.saturating_sub(1));
        let with_tails =
            |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(|e| e.length.0 + tail(e)));
        let there = match manned.plans.iter().map(with_tails).min() {
            Some(there) if manned.plans.iter().all(|plan| plan.extents.len() > 1) => there,
            _ => manned.region_bytes,
        };
        let total = asked.unwrap_or(bytes.min(there)).saturating_mul(count);
        // Where the device ends at the region's end, jumps begin anew until `size` is moved; from a region within it they end
        // where they leave it. Observed with fio 3.33.
        let is_within = |plan: &WorkerPlan| matches!(plan.extents[..], [Extent { start, room, .. }] if start > Bytes::ZERO || room > Bytes::ZERO);
        let is_of_size = options.bytes.get() == options.size.get()
            && options.bytes.get() == options.pass_bytes.get().map(|&bytes| Amount::Bytes(bytes)).as_ref();
        let ends_early = self.dialect == Dialect::Fio
            && is_of_size
            && regions::goes_on_behind(self.operations)
            && manned.plans.iter().all(is_within);
        let at_least = asked.filter(|_| !ends_early && !*options.passes_suffice.get()).unwrap_or(0);
        (Passes::Counted { count, bytes, at_least }, Quota::AtMost(total.max(1)))
    }

    /// How many bytes one worker moves at most: passes over its part, or the bytes asked for.
    pub(crate) fn byte_quota(&self, pass_bytes: u64, remarks: &mut Remarks) -> Option<Quota> {
        let options = &self.stream.options;
        let passes = options.passes.get().map(|&passes| u64::from(passes));
        let bytes = options.bytes.get().map(|amount| match *amount {
            Amount::Bytes(bytes) => bytes.0.div_ceil(u64::from(self.lanes)),
            Amount::Share(share) => regions::share_of(share, pass_bytes),
        });
        let quota = match (passes, bytes) {
            (None, None) => return Some(Quota::Unlimited),
            (Some(passes), None) => passes.saturating_mul(pass_bytes),
            (None, Some(bytes)) => bytes,
            // fio's loops repeat its io_size, which may be more than the region.
            (Some(passes), Some(bytes)) if self.dialect == Dialect::Fio => bytes.saturating_mul(passes),
            (Some(passes), Some(bytes)) => bytes.min(passes.saturating_mul(pass_bytes)),
        };
        let block = self.operations.smallest;
        let whole = Bytes(quota).round_down(Bytes(block)).0;
        if whole == 0 {
            let message = format!(
                "the stream \"{}\" ends after {} per worker, less than one block of {}",
                self.stream.name,
                Bytes(quota),
                Bytes(block)
            );
            let place = options.bytes.span().or(options.passes.span()).or(Some(self.stream.span));
            remarks.error("plan.quota", place, message, "make bytes at least one block");
            return None;
        }
        Some(Quota::AtMost(whole))
    }
}

fn part(index: u64, count: u64) -> SharePart {
    let narrow = |n: u64| u32::try_from(n).expect("workers are at most WORKERS_MAX");
    SharePart { index: narrow(index), count: narrow(count) }
}
