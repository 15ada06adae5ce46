//! Tree to text, as Iometer 1.1.0 saves it. Reading the text back gives an equal tree, places apart.

use super::tree::{Cycling, Document, Kind, Manager, Setup, Spec, Target, Worker};

/// A configuration as a file of Iometer 1.1.0.
pub fn print(document: &Document) -> String {
    let Document { version, setup, specs, managers } = document;
    // What is printed is in the form of 1.1.0, whatever was read; suffixes of that version are kept.
    let version = if version.starts_with("1.1.0") { version } else { "1.1.0" };
    let mut text = format!("Version {version} \n");
    text += &head("TEST SETUP");
    print_setup(setup, &mut text);
    text += "'END test setup\n";
    if let Some(seconds) = setup.updates_seconds {
        text += &head("RESULTS DISPLAY");
        text += "'Record Last Update Results,Update Frequency,Update Type\n";
        text += &format!("\tENABLED,{seconds},LAST_UPDATE\n'END results display\n");
    }
    text += &head("ACCESS SPECIFICATIONS");
    for Spec { name, assign, lines, span: _ } in specs {
        text += "'Access specification name,default assignment\n";
        text += &format!("\t{name},{}\n", assign.name());
        text += "'size,% of size,% reads,% random,delay,burst,align,reply\n";
        for line in lines {
            let super::SpecLine { size, pct, read, random, delay, burst, align, reply, span: _ } = line;
            text += &format!("\t{size},{pct},{read},{random},{delay},{burst},{align},{reply}\n");
        }
    }
    text += "'END access specifications\n";
    text += &head("MANAGER LIST");
    for Manager { id, name, address, workers, span: _ } in managers {
        text += &format!("'Manager ID, manager name\n\t{id},{name}\n'Manager network address\n\t{address}\n");
        for worker in workers {
            print_worker(worker, &mut text);
        }
        text += "'End manager\n";
    }
    text += "'END manager list\n";
    text += &format!("Version {version} \n");
    text
}

/// A section's first line, filled to 80 columns.
fn head(name: &str) -> String {
    format!("{:=<80}\n", format!("'{name} "))
}

fn print_setup(setup: &Setup, text: &mut String) {
    let Setup {
        description,
        run_seconds,
        ramp_seconds,
        disk_workers,
        network_workers,
        record,
        workers,
        targets,
        queue,
        queue_end,
        test_type,
        updates_seconds: _,
        run_time_span: _,
        test_type_span: _,
    } = setup;
    let (hours, minutes, seconds) = (run_seconds / 3600, run_seconds / 60 % 60, run_seconds % 60);
    let count =
        |count: &Option<u64>| count.map_or_else(|| "NUMBER_OF_CPUS".to_owned(), |count| count.to_string());
    *text += &format!("'Test Description\n\t{description}\n");
    *text += "'Run Time\n'\thours      minutes    seconds\n";
    *text += &format!("\t{hours:<11}{minutes:<11}{seconds}\n");
    *text += &format!("'Ramp Up Time (s)\n\t{ramp_seconds}\n");
    *text += &format!("'Default Disk Workers to Spawn\n\t{}\n", count(disk_workers));
    *text += &format!("'Default Network Workers to Spawn\n\t{}\n", count(network_workers));
    *text += &format!("'Record Results\n\t{}\n", record.name());
    for (name, cycling) in [("Worker", workers), ("Disk", targets)] {
        let Cycling { start, step, is_exponential: _ } = cycling;
        *text += &format!("'{name} Cycling\n'\tstart      step       step type\n");
        *text += &format!("\t{start:<11}{step:<11}{}\n", cycling.kind());
    }
    *text += "'Queue Depth Cycling\n'\tstart      end        step       step type\n";
    *text += &format!("\t{:<11}{queue_end:<11}{:<11}{}\n", queue.start, queue.step, queue.kind());
    *text += &format!("'Test Type\n\t{}\n", test_type.name());
}

fn print_worker(worker: &Worker, text: &mut String) {
    let Worker {
        name,
        kind,
        outstanding,
        connection_rate,
        trans_per_conn,
        fixed_seed,
        max_size,
        start,
        pattern,
        interface,
        vi_outstanding,
        specs,
        targets,
        span: _,
        depth_span: _,
        region_span: _,
    } = worker;
    let enabled = |is: bool| if is { "ENABLED" } else { "DISABLED" };
    *text += &format!("'Worker\n\t{name}\n'Worker type\n\t{}\n", kind.name());
    *text += "'Default target settings for worker\n";
    *text += "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n";
    *text += &format!(
        "\t{outstanding},{},{trans_per_conn},{},{}\n",
        enabled(*connection_rate),
        enabled(fixed_seed.is_some()),
        fixed_seed.unwrap_or(0)
    );
    match kind {
        Kind::Disk => {
            *text += "'Disk maximum size,starting sector,Data pattern\n";
            *text += &format!("\t{max_size},{start},{pattern}\n");
        }
        Kind::Tcp | Kind::Vi => *text += &format!("'Local network interface\n\t{interface}\n"),
    }
    if let Some(sends) = vi_outstanding {
        *text += &format!("'VI outstanding IOs\n\t{sends}\n");
    }
    *text += "'End default target settings for worker\n'Assigned access specs\n";
    for spec in specs {
        *text += &format!("\t{spec}\n");
    }
    *text += "'End assigned access specs\n'Target assignments\n";
    for Target { name, kind, manager, span: _ } in targets {
        *text += &format!("'Target\n\t{name}\n'Target type\n\t{}\n", kind.name());
        if let Some((id, name)) = manager {
            *text += &format!("'Target manager ID, manager name\n\t{id},{name}\n");
        }
        *text += "'End target\n";
    }
    *text += "'End target assignments\n'End worker\n";
}
