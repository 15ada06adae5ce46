//! The tests of a configuration as JSON: what would run, in which order, and which rows the results would have.

use crate::exit::Exit;
use crate::load::Loaded;
use crate::{session, terminal};
use fathom_frontend::icf::{
    self, Client, Cycling, Document, Manager, Record, Setup, Spec, SpecLine, Target, Test, Worker,
};
use fathom_model::{Diagnostic, Diagnostics, Job, Level};
use serde_json::{Value, json};

/// Prints the plan of `text`, the content of the file `name`; faults are said on standard error, and on standard output as
/// JSON when that is asked for. Sizes and starting sectors count in `sector_bytes`.
pub(super) fn run(name: &str, text: &str, sector_bytes: u64, as_json: bool) -> Exit {
    let mut job = Job::default();
    let source = job.sources.add(name, text);
    let (document, diagnostics) = icf::parse(source, text);
    let first = diagnostics.all().iter().find(|one| one.level == Level::Error);
    let fault = first.map(|one| {
        let place = one.span.and_then(|span| job.sources.line_and_column(span));
        error(place.map(|(line, _)| line), &one.message)
    });
    let loaded = Loaded { job, diagnostics, ..Loaded::default() };
    if let Err(exit) = session::report_faults(&loaded) {
        if let (true, Some(fault)) = (as_json, fault) {
            // The exit code says the same.
            let _ = terminal::data(&fault);
        }
        return exit;
    }
    let tests = icf::tests(&document).expect("an endless cycle is a fault of reading");
    warn_of_what_would_not_run(&document, sector_bytes, loaded);
    let mut text =
        serde_json::to_string_pretty(&document_of(&document, &tests)).expect("it has only string keys");
    text.push('\n');
    crate::printed(&text)
}

/// Says what of a configuration would not run here, or otherwise than it looks. Iometer takes such files without a word, and
/// so the plan is printed all the same: it is what the file says.
fn warn_of_what_would_not_run(document: &Document, sector_bytes: u64, mut loaded: Loaded) {
    // Where its targets lie is not asked for before it runs.
    let place = |_: &str| Some(icf::Place::Sim);
    let surroundings = icf::Surroundings {
        place: &place,
        sector_bytes,
        is_to_run: false,
        is_here: &crate::place::is_here,
        first_port: crate::cli::FIRST_PORT,
    };
    let lowered = icf::lower(document, &surroundings);
    loaded.diagnostics = Diagnostics::default();
    for Diagnostic { code, level: _, span, message, help } in lowered.diagnostics.all() {
        loaded.diagnostics.warn(code, *span, message.clone(), help.clone());
    }
    session::report_faults(&loaded).expect("there are only warnings");
}

/// A fault as JSON; one of the whole file is of its first line.
pub(super) fn error(line: Option<usize>, message: &str) -> String {
    format!("{}\n", json!({ "error": { "line": line.unwrap_or(1), "message": message } }))
}

fn document_of(document: &Document, tests: &[Test]) -> Value {
    let Document { version, setup, specs, managers } = document;
    let Setup {
        description,
        run_seconds,
        ramp_seconds,
        disk_workers: _,
        network_workers: _,
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
    let cycling = |cycling: &Cycling| json!([cycling.start, cycling.step, cycling.kind()]);
    json!({
        "version": version,
        "description": description,
        "run_seconds": run_seconds,
        "ramp_seconds": ramp_seconds,
        "record": record.name(),
        "test_type": test_type.name(),
        "worker_cycling": cycling(workers),
        "disk_cycling": cycling(targets),
        "queue_cycling": [queue.start, queue_end, queue.step, queue.kind()],
        "specs": specs.iter().map(spec).collect::<Vec<_>>(),
        "managers": managers.iter().map(manager).collect::<Vec<_>>(),
        "points": tests.iter().map(|test| point(document, test, *record)).collect::<Vec<_>>(),
    })
}

fn spec(spec: &Spec) -> Value {
    let Spec { name, assign, lines, span: _ } = spec;
    let lines: Vec<Value> = lines
        .iter()
        .map(|SpecLine { size, pct, read, random, delay, burst, align, reply, span: _ }| {
            json!({
                "size": size, "pct": pct, "read": read, "random": random,
                "delay": delay, "burst": burst, "align": align, "reply": reply,
            })
        })
        .collect();
    json!({ "name": name, "assign": assign.name(), "lines": lines })
}

fn manager(manager: &Manager) -> Value {
    let Manager { id, name, address, workers, span: _ } = manager;
    let workers: Vec<Value> = workers.iter().map(worker).collect();
    json!({ "id": id, "name": name, "address": address, "workers": workers })
}

fn worker(worker: &Worker) -> Value {
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
        interface: _,
        vi_outstanding: _,
        specs,
        targets,
        span: _,
        depth_span: _,
        region_span: _,
    } = worker;
    json!({
        "name": name,
        "type": kind.name(),
        "outstanding": outstanding,
        "connection_rate": connection_rate,
        "trans_per_conn": trans_per_conn,
        "max_size": max_size,
        "start": start,
        "pattern": pattern,
        "fixed_seed": fixed_seed,
        "specs": specs,
        "targets": names(targets),
    })
}

fn names(targets: &[Target]) -> Vec<&str> {
    targets.iter().map(|target| target.name.as_str()).collect()
}

fn point(document: &Document, test: &Test, record: Record) -> Value {
    let mut active = Vec::new();
    for (manager, shares) in document.managers.iter().zip(&test.managers) {
        for (worker, share) in manager.workers.iter().zip(shares).filter(|(_, share)| share.targets > 0) {
            active.push(json!({
                "manager": manager.name,
                "worker": worker.name,
                "spec": worker.specs[test.spec_index],
                "outstanding": share.outstanding,
                "targets": names(&worker.targets[..share.targets]),
            }));
        }
    }
    let rows: Vec<Vec<Value>> = icf::rows(document, test, record).iter().map(cells).collect();
    let mut point = json!({ "spec_index": test.spec_index, "active": active, "rows": rows });
    let clients: Vec<Value> = icf::clients(document, test).iter().map(client).collect();
    if !clients.is_empty() {
        point["clients"] = json!(clients);
    }
    point
}

/// A client, which is a worker of its manager that the file does not have: its rows are in the results alone.
fn client(client: &Client<'_>) -> Value {
    let Client { manager, server_manager, server } = *client;
    json!({
        "manager": manager.name,
        "worker": format!("[{}]", server.name),
        "server": { "manager": server_manager.name, "worker": server.name },
    })
}

/// The cells of a row: numbers where there are some, and empty texts.
fn cells(row: &icf::Row) -> Vec<Value> {
    let number = |cell: &String| cell.parse::<u64>().map_or_else(|_| json!(cell), |number| json!(number));
    row.cells.iter().enumerate().map(|(at, cell)| if at < 3 { json!(cell) } else { number(cell) }).collect()
}
