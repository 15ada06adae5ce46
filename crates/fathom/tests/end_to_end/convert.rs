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
        "rw=rw\nrwmixread=80\nbs=8k\nloops=2\n",
        "rw=rw\nrwmixread=30\nio_size=3m\nfilesize=4m\n",
        "rw=write\nbuffer_compress_percentage=50\nrefill_buffers\nfdatasync=4\nstartdelay=1\nunlink=1\n",
    ] {
        let path = bench.write("job.fio", format!("[global]\nsize=2m\n[a]\n{rest}"));
        assert!(check(&bench, &path), "{rest}");
    }
    // Vdbench's parameter files, by their ending or by their lines.
    let parameters = "sd=sd1,lun=disk1,size=2m,threads=2\nwd=wd1,sd=sd1,rdpct=50,xfersize=(4k,50,64k,50)\n\
        rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1,forthreads=(1-4,d)\n";
    assert!(check(&bench, &bench.write("job.parm", parameters)));
    assert!(check(&bench, &bench.write("job", format!("* found by its lines\n{parameters}"))));
    let ended = bench.fathom("convert absent.fio --to native");
    ended.expect(2, &["absent.fio"]);
    bench.write("logs.fio", "[a]\nsize=1m\nwrite_bw_log=x\n");
    bench.fathom("convert logs.fio --to native").expect(0, &["no log files"]);
    bench.write("shaped.fio", "[a]\nsize=1m\npercentile_list=50:99\nstats=0\n");
    let ended = bench.fathom("convert shaped.fio --to native");
    ended.expect(0, &["percentile_list and stats are left out"]);
}

/// What has no map is read back by place, in native words as in fio's.
#[test]
fn the_order_of_reading_back_is_converted() {
    let bench = Bench::new();
    for (rest, by_place) in [
        ("rw=randwrite\nnorandommap\n", true),
        ("rw=randwrite\nrandom_distribution=zipf:1.2\nnrfiles=2\n", true),
        ("rw=randwrite\n", false),
        ("rw=write\n", false),
    ] {
        bench.write("job.fio", format!("[a]\nsize=2m\nverify=md5\n{rest}"));
        bench.write("job.toml", bench.fathom("convert job.fio --to native").expect(0, &[]).out.clone());
        for job in ["job.fio", "job.toml"] {
            let steps = steps(&bench, job).expect("it is planned");
            let rule = &steps[0]["streams"][0]["workload"]["verification"]["on"];
            assert_eq!(rule["by_place"].as_bool().unwrap_or(false), by_place, "{job}: {rest}{rule}");
        }
    }
}

/// Zones of fio go on behind `size`, so that native ones have the whole file; how much is moved is still a share of it, but where time
/// ends the job.
#[test]
fn a_share_beside_zones_stays_what_is_moved() {
    let bench = Bench::new();
    let job = "[a]\nfilename=f\nrw=write\nbs=8k\nfilesize=256k\nsize=50%\nzonemode=strided\nzonesize=16k\nzoneskip=16k\nzonerange=32k\n";
    bench.write("job.fio", job);
    bench.write("job.toml", bench.fathom("convert job.fio --to native").expect(0, &[]).out.clone());
    bench.fathom("run job.toml --quiet").expect(0, &[]);
    assert_eq!(bench.report()["steps"][0]["total"]["all"]["operations"], 16);
    bench.write("timed.fio", format!("{job}time_based\nruntime=1\n"));
    let ended = bench.fathom("convert timed.fio --to native");
    let native = &ended.expect(0, &[]).out;
    assert!(native.contains("\ntime = \"1s\"") && !native.contains("\nbytes ="), "{native}");
}

#[test]
fn a_parameter_file_of_vdbench_runs() {
    let bench = Bench::new();
    bench.write(
        "job.parm",
        "sd=sd1,lun=disk1,size=1m\nwd=wd1,sd=sd1,rdpct=50\nrd=rd1,wd=wd1,iorate=(100,200),elapsed=2,interval=1\n",
    );
    bench.fathom("run job.parm").expect(0, &["rd1"]);
    let report = bench.report();
    let steps = report["steps"].as_array().expect("it has steps");
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, ["rd1 (rate=100/s)", "rd1 (rate=200/s)"]);
    assert!(steps.iter().all(|step| step["total"]["all"]["operations"].as_u64() > Some(0)), "{report}");
    bench.write("files.parm", "fsd=f,anchor=/tmp/x,depth=1,width=1,files=1,size=4k\n");
    bench.fathom("run files.parm").expect(2, &["files.parm:1", "fsd is known but not imported"]);
    bench.fathom("run job.parm job.parm").expect(2, &["2 Vdbench parameter files are given"]);
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
