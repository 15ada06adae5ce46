//! A peer's job in native terms. Owns what a peer's dialect settles without a word and a native job has to say; the way to
//! text is the front end's.

use crate::links::Links;
use crate::operations;
use crate::remarks::Remarks;
use fathom_model::{Amount, Coverage, Dialect, Given, Job, VerifyOrder};
use fathom_schema as schema;
use fathom_units::Bytes;

/// The job as a native one with the same plan.
pub fn in_native_terms(job: &Job) -> Job {
    let mut native = Job { dialect: Dialect::Native, echo: Vec::new(), ..job.clone() };
    for workload in &mut native.workloads {
        let wanted = *workload.options.coverage.get();
        // What is wrong with it keeps both from being planned.
        let resolved = operations::resolve(workload, job.dialect, &mut Remarks::default());
        let is_bent = resolved.as_ref().is_some_and(|operations| {
            operations.random && operations.workload.coverage == schema::Coverage::Independent
        });
        // One file that is written in order is read back so without a word.
        let has_no_map = resolved.is_some_and(|operations| {
            !operations.sequential && operations.workload.coverage == schema::Coverage::Independent
        });
        if let (Dialect::Fio, true, Some(span)) = (job.dialect, has_no_map, workload.options.verify.span()) {
            workload.options.verify_order.set(VerifyOrder::Place, span);
        }
        if wanted == Coverage::OncePerPass && is_bent {
            let span = workload.options.coverage.span().unwrap_or(workload.span);
            workload.options.coverage.set(Coverage::Independent, span);
        }
    }
    let links = Links::of(job);
    for (stream, before) in native.streams.iter_mut().zip(&job.streams) {
        let options = &mut stream.options;
        // Passes that are enough by themselves are counted in both.
        if job.dialect == Dialect::Fio
            && !*options.passes_suffice.get()
            && let (Some(&passes), Some(&Amount::Bytes(bytes))) = (options.passes.get(), options.bytes.get())
        {
            // fio's loops repeat its io_size, but go on in whole passes over the region (`endings::bytes_of`).
            let passes = u64::from(passes);
            let most = bytes.0.saturating_mul(passes);
            let all = match options.size.get() {
                Some(&Amount::Bytes(region)) if region.0 > 0 => {
                    most.min(region.0.saturating_mul(passes.max(bytes.0.div_ceil(region.0))))
                }
                _ => most,
            };
            let all = Bytes(all);
            options.bytes.set(Amount::Bytes(all), options.bytes.span().unwrap_or(stream.span));
            options.passes = Given::default();
        }
        let has_zones =
            links.workload_of(before).is_some_and(|workload| workload.options.zones.get().is_some());
        if job.dialect == Dialect::Fio && has_zones {
            // fio's zones go on behind the region, to the end of what it is a part of; native ones stay in theirs. How much is moved
            // is still a share of it, where it is not time that ends it.
            if let (Some(&Amount::Share(share)), Some(_), None, None) =
                (options.size.get(), options.passes.get(), options.bytes.get(), options.pass_bytes.get())
            {
                options.bytes.set(Amount::Share(share), options.size.span().unwrap_or(stream.span));
            }
            options.size = Given::default();
        }
    }
    native
}
