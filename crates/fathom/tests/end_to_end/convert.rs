//! `fathom convert`: what is printed in another dialect plans to the same steps.

use crate::support::{Bench, project, skip};
use serde_json::Value;
use std::path::Path;

/// The steps of a job's plan; absent where it cannot be planned here.
fn steps(bench: &Bench, job: &str) -> Option<Value> {
    let ended = bench.fathom_with(&["plan", "--json", job]);
    (!ended.out.is_empty()).then(|| ended.json()["steps"].clone())
}

/// Whether the job at `path` could be planned and converted; asserts that both plans are the same.
fn check(bench: &Bench, path: &Path) -> bool {
    let path = path.to_str().expect("names of jobs are plain");
    let Some(before) = steps(bench, path) else { return false };
    let ended = bench.fathom_with(&["convert", path, "--to", "native"]);
    ended.expect(0, &[]);
    bench.write("converted.toml", &ended.out);
    let after = steps(bench, "converted.toml");
    assert_eq!(after.as_ref(), Some(&before), "{path}\n{}", ended.out);
    true
}

#[test]
fn a_converted_job_plans_to_the_same_steps() {
    let bench = Bench::new();
    for rest in [
        "rw=randrw\nrwmixread=70\nbs=8k\niodepth=4\nioengine=libaio\n",
        "rw=randwrite\nbssplit=4k/60:64k/40\nfsync=8\nend_fsync=1\n",
        "rw=randread\nbsrange=4k-64k\nnumjobs=3\nthinktime=100\n",
        "rw=write\nio_size=3m\nloops=2\nnumjobs=2\noffset_increment=1m\nfilename=shared\n",
        "rw=randread\nrandom_distribution=zipf:1.2\ntime_based\nruntime=10\nramp_time=2\nrate_iops=100\n",
        "rw=read\nnrfiles=3\nfile_service_type=sequential\n[b]\nstonewall\nrw=randtrim\nioengine=null\n",
        "rw=write\nbuffer_compress_percentage=50\nrefill_buffers\nfdatasync=4\nstartdelay=1\nunlink=1\n",
    ] {
        let path = bench.write("job.fio", format!("[global]\nsize=2m\n[a]\n{rest}"));
        assert!(check(&bench, &path), "{rest}");
    }
    let ended = bench.fathom("convert absent.fio --to native");
    ended.expect(2, &["absent.fio"]);
    bench.write("logs.fio", "[a]\nsize=1m\nwrite_bw_log=x\n");
    bench.fathom("convert logs.fio --to native").expect(0, &["no log files"]);
}

#[test]
fn published_jobs_convert() {
    let Ok(files) = std::fs::read_dir(project().join("../shared/corpus/fio/jobs")) else {
        return skip("published_jobs_convert", "the corpus of job files is not there");
    };
    let bench = Bench::new();
    let mut paths: Vec<_> = files.map(|file| file.expect("the corpus can be read").path()).collect();
    paths.sort();
    // Every third, as each is planned twice by a process of its own.
    let converted = paths.iter().step_by(3).filter(|path| check(&bench, path)).count();
    assert!(converted > 0, "none of {} could be planned", paths.len());
}
