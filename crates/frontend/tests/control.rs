//! fio's job control in the model: who waits for whom, and what is said about it.

use fathom_frontend::fio::{Reading, Surroundings, read};
use fathom_frontend::native;

/// The job becomes these lines of a native one, and these messages are told.
fn check(text: &str, lines: &[&str], messages: &[&str]) {
    let Reading { job, diagnostics, .. } = read("job.fio", text, &Surroundings::empty());
    let printed = native::print(&job);
    for line in lines {
        assert!(printed.lines().any(|printed| printed == *line), "no {line} in\n{printed}\nfrom\n{text}");
    }
    let told: Vec<&str> = diagnostics.all().iter().map(|d| d.message.as_str()).collect();
    assert_eq!(told, messages, "{text}");
    let (_, again) = native::read("again.toml", &printed);
    assert!(again.is_empty(), "{again:?}\n{printed}");
}

#[test]
fn a_job_waits_for_all_clones_of_another() {
    let two = "[global]\nsize=1m\n[a]\nnumjobs=2\n";
    check(&format!("{two}[b]\nwait_for=a\n"), &["wait_for = [\"a.0\", \"a.1\"]"], &[]);
    check(&format!("{two}[b]\nwait_for=c\n"), &[], &["there is no job \"c\" before this one"]);
    check(&format!("{two}[b]\nwait_for=c\n[c]\n"), &[], &["there is no job \"c\" before this one"]);
    check(&format!("{two}[b]\nwait_for=b\n"), &[], &["the job \"b\" would wait for itself"]);
    check(&format!("{two}[a]\n[b]\nwait_for=a\n"), &[], &["there are several jobs \"a\""]);
    // Behind a barrier all of them have ended.
    let barrier = format!("{two}[b]\nstonewall\nwait_for=a\n");
    check(&barrier, &[], &[]);
    let Reading { job, .. } = read("job.fio", &barrier, &Surroundings::empty());
    assert!(job.streams[2].options.wait_for.get().is_empty());
}

#[test]
fn descriptions_are_the_runs() {
    check("[a]\nsize=1m\ndescription=one\n[b]\nsize=1m\n", &["description = \"one\""], &[]);
    let two = "[global]\ndescription=one\nsize=1m\n[a]\n[b]\n";
    check(two, &["description = \"one\""], &[]);
    check(&format!("{two}description=two\n"), &["description = \"a: one; b: two\""], &[]);
}

#[test]
fn what_ends_with_a_job() {
    let jobs = |of_a: &str| format!("[global]\nsize=1m\n[a]\n{of_a}[b]\nnew_group\n");
    // fio's exitall is every job's, its exit_what the job's own.
    check(&jobs("exitall\n"), &["at_end = \"group\"", "at_error = \"worker\""], &[]);
    let Reading { job, .. } = read("x", &jobs("exitall\nexit_what=all\n"), &Surroundings::empty());
    let ends: Vec<&str> = job.streams.iter().map(|stream| stream.options.at_end.get().word()).collect();
    assert_eq!(ends, ["run", "group"]);
    check(&jobs("exitall\nexit_what=stonewall\n"), &["at_end = \"running\""], &[]);
    check(&jobs("exitall_on_error\n"), &["at_error = \"group\"", "at_error = \"worker\""], &[]);
    check(&jobs("exitall_on_error\nexit_what=all\n"), &["at_error = \"run\""], &[]);
}

#[test]
fn errors_that_a_job_goes_on_after() {
    let jobs = |options: &str| format!("[a]\nsize=1m\n{options}\n");
    for (options, tolerate) in [
        ("continue_on_error=read", "[\"read EIO EILSEQ\"]"),
        ("continue_on_error=1", "[\"read EIO EILSEQ\", \"write EIO EILSEQ\"]"),
        ("ignore_error=,ENOSPC:28:EIO", "[\"write ENOSPC ENOSPC EIO\"]"),
        ("continue_on_error=read\nignore_error=,ENOSPC", "[\"read EIO EILSEQ\", \"write ENOSPC\"]"),
    ] {
        check(&jobs(options), &[&format!("tolerate = {tolerate}")], &[]);
    }
    // Seen with fio 3.33: the later of the two counts.
    let Reading { job, .. } =
        read("x", &jobs("ignore_error=EIO\ncontinue_on_error=none"), &Surroundings::empty());
    assert!(job.streams[0].options.tolerate.get().is_none());
    check(&jobs("ignore_error=EFOO"), &[], &["ignore_error: \"EFOO\" is no error"]);
}
