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
