//! What a job of fio knows of files that are not there before the run, since other jobs of it make them.

use crate::host::{Is, facts};
use fathom_frontend::fio::{Reading, Surroundings, read};
use fathom_planner::plan;

/// The jobs "a" and "b" make 12 KiB of `s` and 4 KiB of `u`; how much of its files the job behind them goes over, which has
/// `last`, or which files have no length.
fn check(of_a: &str, last: &str, expect: Result<u64, &[&str]>) {
    let text = format!(
        "[global]\nbs=512\nrw=write\n[a]\nfilename=s\nsize=12288\n{of_a}[b]\nfilename=u\nsize=4096\n[d]\nstonewall\n{last}"
    );
    let Reading { job, diagnostics, .. } = read("job.fio", &text, &Surroundings::empty());
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let (plan, found) = plan(&job, &facts(&job, |_| Is::Absent), 7);
    let lacking: Vec<&str> =
        found.all().iter().filter(|one| one.code == "plan.needs-size").map(|one| &*one.message).collect();
    let planned = plan.ok_or(&*lacking).map(|plan| {
        let step = plan.experiment.preview().pop().expect("there are two stages");
        step.streams[0].workers[0].extents.iter().map(|extent| extent.length.0).sum::<u64>()
    });
    assert_eq!(planned, expect, "{text}{found:?}");
}

/// As fio 3.33 does, but for the reads.
#[test]
fn files_that_other_jobs_make_have_a_length_beside_absent_ones() {
    check("", "filename=s\n", Ok(12288));
    check("", "filename=s:u\n", Ok(16384));
    check("", "filename=t:s\n", Ok(12288));
    check("", "filename=s:t\n", Ok(12288));
    check("", "filename=t:s:u\n", Ok(16384));
    check("", "filename=t:s\nsize=50%\n", Ok(6144));
    let lacks_t = ["t does not exist or is empty, and has no size"];
    check("", "filename=t\n", Err(&lacks_t));
    check("", "filename=t:s\nrw=read\n", Err(&lacks_t));
    // Nobody sees to the length of what is only made.
    let lacks_both = [lacks_t[0], "s does not exist or is empty, and has no size"];
    check("fallocate=none\n", "filename=t:s\n", Err(&lacks_both));
}
