//! What Iometer's configurations become in the model: streams, workloads and stages, and what is said of the rest.

use fathom_frontend::icf::{Lowered, Place, Surroundings, lower, parse};
use fathom_model::{
    Amount, ContentSource, Freshness, Level, Literal, OnError, Seed, TargetKind, WorkloadOptions,
};
use fathom_units::{Bytes, Nanos, Ratio};

/// One worker of 8 outstanding I/Os: its specification's lines, its target settings, its targets, the test setup.
fn text(lines: &str, settings: &str, targets: &[&str], setup: &str) -> String {
    let targets: String = targets
        .iter()
        .map(|target| format!("'Target\n{target}\n'Target type\nDISK\n'End target\n"))
        .collect();
    format!(
        "'TEST SETUP\n'Run Time\n0 0 30\n'Ramp Up Time\n5\n{setup}'END test setup\n'ACCESS SPECIFICATIONS\n\
         'Access specification name,default assignment\ns,NONE\n'size,\n{lines}\n'END access specifications\n\
         'MANAGER LIST\n'Manager ID, manager name\n1,M\n'Manager network address\n\n'Worker\nw\n'Worker type\nDISK\n\
         'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
         8,DISABLED,1,DISABLED,0\n'Disk maximum size,starting sector,Data pattern\n{settings}\n\
         'End default target settings for worker\n'Assigned access specs\ns\n'End assigned access specs\n\
         'Target assignments\n{targets}'End target assignments\n'End worker\n'End manager\n'END manager list\n"
    )
}

fn lowered_with(text: &str, place: Option<&Place>, is_to_run: bool) -> Lowered {
    let (document, found) = parse(0, text);
    assert!(found.is_empty(), "{found:?}");
    let place = |_: &str| place.cloned();
    lower(
        &document,
        &Surroundings {
            place: &place,
            sector_bytes: 512,
            is_to_run,
            is_here: &|host| host == "10.0.0.1",
            first_port: 10_660,
        },
    )
}

fn lowered(text: &str) -> Lowered {
    lowered_with(text, Some(&Place::Path("/dev/x".to_owned())), true)
}

/// The workload of a specification, and the codes of what is said of it.
fn workload(lines: &str, pattern: u8) -> (WorkloadOptions, Vec<(Level, &'static str)>) {
    let lowered = lowered(&text(lines, &format!("0,0,{pattern}"), &["C:"], ""));
    let said = lowered.diagnostics.all().iter().map(|one| (one.level, one.code)).collect();
    (lowered.job.workloads[0].options.clone(), said)
}

#[test]
fn a_line_is_a_workload_and_several_are_a_mix() {
    let (options, said) = workload("8192,100,67,100,0,1,4096,0", 2);
    assert_eq!(options.block_size.get().sizes, [(1.0, Bytes(8192), Bytes(8192), Bytes(8192))]);
    assert_eq!((*options.read.get(), options.access.get().random), (Ratio::percent(67.0), Ratio::ONE));
    assert_eq!(options.align.get(), Some(&Bytes(4096)));
    assert_eq!((options.content.get(), *options.freshness.get()), (&ContentSource::Random, Freshness::Every));
    assert!(said.is_empty(), "{said:?}");

    let (options, said) = workload("512,40,100,0,0,1,0,0\n4096,0,0,0,0,1,0,0\n65536,60,0,50,0,1,65536,0", 2);
    let mix = options.mix.get().expect("there are two lines with a share");
    let lines: Vec<_> = mix.iter().map(|line| (line.share, line.block_size.sizes[0].1, line.read)).collect();
    assert_eq!(lines, [(40.0, Bytes(512), Ratio::ONE), (60.0, Bytes::kib(64), Ratio::ZERO)]);
    // Behind one of 512 B, the other line goes on at the next multiple of its 64 KiB.
    let own: Vec<_> = mix.iter().map(|line| line.align).collect();
    assert_eq!((own, options.align.get()), (vec![Some(Bytes(512)), Some(Bytes::kib(64))], None));
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn what_is_carried_over_nearly_is_said() {
    for (lines, pattern, expect) in [
        // To the sector, as nothing is said.
        ("4096,100,100,100,0,1,0,0", 0, vec!["icf.align"]),
        ("512,100,100,100,0,1,0,0", 0, vec![]),
        ("4096,50,100,100,0,1,4096,0\n8192,50,100,100,0,1,8192,0", 0, vec![]),
        ("4096,100,100,0,0,1,0,512", 0, vec!["icf.ignored"]),
        ("4096,100,0,0,0,1,0,0", 0, vec!["icf.content"]),
        ("4096,100,0,0,0,1,0,0", 1, vec!["icf.content"]),
        ("4096,50,100,0,0,4,0,0\n8192,50,100,0,0,4,0,0", 2, vec!["icf.approximate"]),
        ("1024,50,100,0,0,1,4096,0\n4096,50,100,0,0,1,4096,0", 2, vec![]),
    ] {
        let (_, said) = workload(lines, pattern);
        let expect: Vec<_> = expect.into_iter().map(|code| (Level::Warning, code)).collect();
        assert_eq!(said, expect, "{lines} {pattern}");
    }
    for lines in ["0,100,100,0,0,1,0,0", "4096,50,100,0,5,1,0,0\n4096,50,100,0,0,1,0,0"] {
        assert!(workload(lines, 2).1.iter().any(|(level, _)| *level == Level::Error), "{lines}");
    }
    // Lines that differ have grids of their own, and so have those that follow what may end between two of their places.
    for (lines, expect) in [
        ("4096,50,100,100,0,1,4096,0\n8192,50,100,100,0,1,8192,0", vec![4096, 8192]),
        ("1024,50,100,0,0,1,4096,0\n4096,50,100,0,0,1,0,0", vec![4096, 512]),
        ("512,50,100,0,0,1,0,0\n4096,50,100,0,0,1,4096,0", vec![512, 4096]),
        ("1024,100,100,50,0,1,4096,0", vec![4096]),
    ] {
        let (options, said) = workload(lines, 2);
        let mix = options.mix.get().unwrap_or_else(|| panic!("no mix of {lines}"));
        let own: Vec<_> = mix.iter().map(|line| line.align.map_or(0, |align| align.0)).collect();
        assert_eq!((own, options.align.get()), (expect, None), "{lines}");
        assert!(said.is_empty(), "{lines}: {said:?}");
    }
    // Gaps between sequential operations are a stride.
    assert_eq!(*workload("1024,100,100,0,0,1,4096,0", 2).0.stride.get(), 3072);
}

#[test]
fn a_worker_has_a_stream_for_each_of_its_targets() {
    let both = text("4096,100,100,0,0,1,0,0", "2048,64,2", &["C: x", "D:"], "");
    let Lowered { job, diagnostics, streams, document: _, tests } = lowered(&both);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let names: Vec<&str> = job.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["w, C: x", "w, D:"]);
    assert_eq!(streams[0][&(0, 0, 1)].name, "w, D:");
    for stream in &job.streams {
        assert_eq!(*stream.options.queue_depth.get(), 8, "the depth is that of each target");
        assert_eq!(stream.options.offset.get(), &Amount::Bytes(Bytes(64 * 512)));
        assert_eq!(stream.options.size.get(), Some(&Amount::Bytes(Bytes(2048 * 512))));
        assert_eq!(stream.options.seed.get(), Some(&Seed::Fresh));
    }
    assert_eq!(job.targets[0].options.size.get(), Some(&Amount::Bytes(Bytes((2048 + 64) * 512))));
    assert_eq!((job.stages.len(), tests.len()), (1, 1));
    let stage = &job.stages[0].options;
    assert_eq!((stage.time.get(), *stage.ramp.get()), (Some(&Nanos::secs(30)), Nanos::secs(5)));
    assert!(matches!(job.run.on_error.get(), OnError::Count(_)), "errors end nothing");
    // Pauses are a worker's: one that has two targets is one stream on both.
    let delay = "4096,100,100,0,20,4,0,0";
    let Lowered { job, streams, .. } = lowered(&text(delay, "0,0,2", &["C:", "D:"], ""));
    let [stream] = &job.streams[..] else { panic!("{:?}", job.streams) };
    assert_eq!((stream.name.as_str(), *stream.options.queue_depth.get()), ("w", 16));
    assert_eq!(stream.options.targets.get().map(Vec::len), Some(2));
    assert_eq!((*stream.options.think_time.get(), *stream.options.think_every.get()), (Nanos::millis(20), 4));
    assert!([0, 1].iter().all(|&target| streams[0][&(0, 0, target)].name == "w"));
    // Where its first target runs alone, that is another one.
    let cycled = lowered(&text(delay, "0,0,2", &["C:", "D:"], "'Test Type\nCYCLE_TARGETS\n"));
    let names: Vec<&str> = cycled.job.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["w, C:", "w"]);
    let stream = &lowered(&text(delay, "0,0,2", &["C:"], "")).job.streams[0].options;
    assert_eq!((*stream.think_time.get(), *stream.think_every.get()), (Nanos::millis(20), 4));
}

#[test]
fn tests_are_stages_and_depths_a_sweep() {
    let stages = |setup: &str| {
        let Lowered { job, tests, .. } =
            lowered(&text("4096,100,100,0,0,1,0,0", "0,0,2", &["C:", "D:"], setup));
        let stage = |stage: &fathom_model::Named<fathom_model::StageOptions>| {
            let dimensions = &stage.options.sweep.get().dimensions;
            let depths: Vec<i64> = dimensions
                .iter()
                .flat_map(|(path, values)| {
                    assert_eq!(path, "stream.queue_depth");
                    values.iter().map(|value| match value {
                        Literal::Integer(depth) => *depth,
                        other => panic!("{other:?} is no depth"),
                    })
                })
                .collect();
            (stage.options.streams.get().map_or(0, Vec::len), depths)
        };
        let stages: Vec<_> = job.stages.iter().map(stage).collect();
        let points: usize = stages.iter().map(|(_, depths)| depths.len().max(1)).sum();
        assert_eq!(points, tests.len(), "{setup}");
        stages
    };
    let queue = "'Queue Depth Cycling\n1 8 2 EXPONENTIAL\n'Test Type\n";
    assert_eq!(stages(""), [(2, vec![])]);
    assert_eq!(stages(&format!("{queue}CYCLE_OUTSTANDING_IOS\n")), [(2, vec![1, 2, 4, 8])]);
    assert_eq!(stages("'Test Type\nCYCLE_TARGETS\n"), [(1, vec![]), (2, vec![])]);
    let depths = vec![1, 2, 4, 8];
    assert_eq!(stages(&format!("{queue}7\n")), [(1, depths.clone()), (2, depths)]);
}

#[test]
fn targets_that_are_not_here_matter_to_a_run_only() {
    let text = text("4096,100,100,0,0,1,0,0", "0,0,2", &["C: x"], "");
    let codes = |lowered: &Lowered| -> Vec<_> {
        lowered.diagnostics.all().iter().map(|one| (one.level, one.code, one.help.clone())).collect()
    };
    let help = "say what stands for it: --map 'C:=/dev/…' or a file, sim: or null:".to_owned();
    let run = lowered_with(&text, None, true);
    assert_eq!(codes(&run), [(Level::Error, "icf.unmapped", help.clone())]);
    assert_eq!(codes(&lowered_with(&text, None, false)), [(Level::Warning, "icf.unmapped", help)]);
    let simulated = lowered_with(&text, Some(&Place::Sim), true);
    assert_eq!(*simulated.job.targets[0].options.kind.get(), TargetKind::Sim);
    assert!(simulated.job.targets[0].options.size.get().is_some());
    // Nor can a run go on until it is stopped.
    let endless = text.replace("0 0 30", "0 0 0");
    assert_eq!(codes(&lowered_with(&endless, Some(&Place::Null), true))[0].1, "icf.no-run-time");
    // Files of specifications alone are passed around: each is there for whoever keeps it.
    let (begin, end) = (text.find("'MANAGER LIST"), text.find("'END manager list"));
    let alone = format!("{}{}", &text[..begin.expect("it is there")], &text[end.expect("it is there")..])
        .replace("'END manager list\n", "")
        .replace("4096,100,100,0,0,1,0,0", "4096,60,100,0,5,2,0,0\n8192,40,0,100,0,1,4096,0");
    let library = lowered_with(&alone, None, true);
    let found = codes(&library).into_iter().map(|(level, code, _)| (level, code)).collect::<Vec<_>>();
    let expect = [(Level::Error, "icf.specifications-only"), (Level::Warning, "icf.ignored")];
    assert_eq!(found, expect);
    assert_eq!(library.job.workloads.len(), 1);
    assert_eq!(library.job.workloads[0].options.mix.get().map(Vec::len), Some(2));
    assert!(library.job.streams.is_empty() && library.job.workloads[0].options.content.span().is_none());
    let nothing = text.replace("'Assigned access specs\ns\n", "'Assigned access specs\n");
    assert_eq!(codes(&lowered_with(&nothing, Some(&Place::Null), true))[0].1, "icf.nothing-to-run");
}

/// What is said of a text that was lowered: its lines in their order, from 1, and the messages.
fn said_at(text: &str, place: Option<&Place>) -> Vec<(usize, String)> {
    let lowered = lowered_with(text, place, true);
    let line = |start: usize| text[..start].matches('\n').count() + 1;
    let all = lowered.diagnostics.all().iter();
    all.map(|one| (one.span.map_or(0, |span| line(span.start)), one.message.clone())).collect()
}

/// The line that begins with these words, from 1.
fn line_of(text: &str, begin: &str) -> usize {
    text.lines().position(|line| line.starts_with(begin)).expect("there is such a line") + 1
}

#[test]
fn a_depth_of_0_is_told_once_where_it_stands() {
    let text = text("4096,100,100,0,0,1,0,0", "0,0,2", &["C:", "D:"], "").replace("\n8,DIS", "\n0,DIS");
    let expect = "0 outstanding I/Os are not within 1 to 65536".to_owned();
    assert_eq!(said_at(&text, Some(&Place::Sim)), [(line_of(&text, "0,DIS"), expect.clone())]);
    // One that is cycled is the test's.
    let cycled = text
        .replace(
            "'END test setup",
            "'Queue Depth Cycling\n0 0 1 LINEAR\n'Test Type\nCYCLE_OUTSTANDING_IOS\n'END test setup",
        )
        .replace("\n0,DIS", "\n8,DIS");
    assert_eq!(said_at(&cycled, Some(&Place::Sim)), [(line_of(&cycled, "CYCLE_OUT"), expect)]);
}

#[test]
fn a_part_of_a_target_that_holds_no_operation_is_an_error_at_its_line() {
    let with = |lines: &str, settings: &str| text(lines, settings, &["C:", "D:"], "");
    let mix = "4096,50,100,0,0,1,0,0\n65536,50,100,0,0,1,0,0\n1048576,0,100,0,0,1,0,0";
    let small = with(mix, "127,0,2");
    let message = "\"w\" uses 65024 B of its targets, and \"s\" has operations of 64 KiB".to_owned();
    assert_eq!(said_at(&small, Some(&Place::Sim)), [(line_of(&small, "127,0"), message)]);
    for settings in ["128,0,2", "0,0,2"] {
        assert_eq!(said_at(&with(mix, settings), Some(&Place::Sim)), [], "{settings}");
    }
}

#[test]
fn what_is_said_of_several_targets_and_specifications_comes_in_the_order_of_lines() {
    let both = text("1000,100,100,100,0,1,1000,0", "1,0,0", &["C:", "D:"], "");
    let said = said_at(&both, None);
    let lines: Vec<usize> = said.iter().map(|(line, _)| *line).collect();
    assert!(said.len() >= 4 && lines.is_sorted(), "{said:?}");
}

/// Two managers, of which the second aims its network worker at the first.
fn network(lines: &str, settings: &str, interface: &str) -> String {
    format!(
        "'TEST SETUP\n'Run Time\n0 0 30\n'END test setup\n'ACCESS SPECIFICATIONS\n\
         'Access specification name,default assignment\ns,NONE\n'size,\n{lines}\n'END access specifications\n\
         'MANAGER LIST\n'Manager ID, manager name\n1,M\n'Manager network address\n\n'End manager\n\
         'Manager ID, manager name\n2,N\n'Manager network address\n10.0.0.1\n'Worker\nw\n'Worker type\nNETWORK,TCP\n\
         'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
         1,{settings}\n'Local network interface\n{interface}\n'End default target settings for worker\n\
         'Assigned access specs\ns\n'End assigned access specs\n'Target assignments\n'Target\n10.0.0.2\n\
         'Target type\nNETWORK,TCP\n'Target manager ID, manager name\n1,m\n'End target\n'End target assignments\n\
         'End worker\n'End manager\n'END manager list\n"
    )
}

#[test]
fn a_network_worker_and_its_client_are_two_streams() {
    let lines = "512,50,100,100,0,1,4096,0\n4096,50,0,0,0,1,0,64";
    let Lowered { job, diagnostics, streams, document, tests } =
        lowered(&network(lines, "DISABLED,1,ENABLED,7", "127.0.0.1"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let names: Vec<&str> = job.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["N/w", "M/[w]"], "clients name their servers, and come behind them");
    let [server, client] = [0, 1].map(|at| &job.streams[at].options);
    assert_eq!(client.mirrors.get().map(String::as_str), Some("N/w"));
    assert_eq!((server.seed.get(), client.seed.get()), (Some(&Seed::Fixed(7)), None));
    assert_eq!(server.workload.get(), client.workload.get());
    let mix = job.workloads[0].options.mix.get().expect("there are lines");
    assert_eq!(mix.iter().map(|line| line.reply).collect::<Vec<_>>(), [None, Some(Bytes(64))]);
    assert!(mix.iter().all(|line| line.access.random == Ratio::ZERO), "a network has no places");
    let ends: Vec<_> = job
        .targets
        .iter()
        .map(|target| (target.options.address.get().map(ToString::to_string), target.options.listen.get()))
        .collect();
    // The interface is nobody's here, and the manager's address is.
    let address = Some("tcp://10.0.0.1:10660".to_owned());
    assert_eq!(ends, [(address.clone(), Some(&true)), (address, Some(&false))]);
    assert_eq!(streams[0].len(), 2);
    assert_eq!(tests[0].managers.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    // Depths that are cycled are those of disks.
    let disk = text("4096,100,100,0,0,1,0,0", "0,0,2", &["C:"], "");
    let worker =
        &disk[disk.find("'Worker\n").expect("it is there")..disk.find("'End manager").expect("it is there")];
    let both = network(lines, "DISABLED,1,DISABLED,0", "")
        .replace("'End worker\n", &format!("'End worker\n{worker}"));
    let cycling = "'Queue Depth Cycling\n1 8 2 EXPONENTIAL\n'Test Type\n6\n'END test setup";
    let Lowered { job, .. } = lowered(&both.replace("'END test setup", cycling));
    let sweep = job.stages[0].options.sweep.get().dimensions.clone();
    assert_eq!(sweep[0].1, [1, 2, 4, 8].map(Literal::Integer), "{:?}", job.stages);
    let document = document.expect("it was read");
    assert_eq!((document.managers[0].workers[0].name.as_str(), tests.len()), ("[w]", 1));
}

#[test]
fn connections_that_are_tested_last_for_transactions() {
    let per_connection = |lines: &str, settings: &str| {
        let Lowered { job, diagnostics, .. } = lowered(&network(lines, settings, ""));
        let found: Vec<_> =
            job.targets.iter().map(|target| target.options.per_connection.get().copied()).collect();
        assert_eq!(found[0], found[1], "both ends part together");
        (found[0], diagnostics.all().iter().map(|one| one.code).collect::<Vec<_>>())
    };
    let (plain, replied) = ("512,100,0,0,0,1,0,0", "512,100,0,0,0,1,0,64");
    assert_eq!(per_connection(plain, "DISABLED,5,DISABLED,0"), (None, vec![]));
    assert_eq!(per_connection(plain, "ENABLED,5,DISABLED,0"), (Some(5), vec![]));
    assert_eq!(per_connection(replied, "ENABLED,5,DISABLED,0"), (Some(10), vec![]));
    assert_eq!(per_connection(plain, "ENABLED,0,DISABLED,0"), (Some(0), vec![]));
    let some = "512,50,0,0,0,1,0,64\n512,50,0,0,0,1,0,0";
    assert_eq!(per_connection(some, "ENABLED,5,DISABLED,0"), (Some(5), vec!["icf.approximate"]));
}
