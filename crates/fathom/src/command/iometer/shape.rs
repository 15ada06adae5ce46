//! Who has a row in the results, and which streams it sums up. Knows the configuration and the names of the streams made of
//! it; the figures are elsewhere.

use crate::load::Configuration;
use fathom_frontend::icf::{
    self, Document, Kind, Record, Row, Spec, SpecLine, StreamOf, Streams, Subject, Test, Worker,
};
use fathom_report::{IometerRow, IometerShape, IometerSpec, IometerStream, IometerTest};

/// The shape of the results of a configuration.
pub(super) fn of(configuration: &Configuration) -> IometerShape {
    let Configuration { document, streams, tests } = configuration;
    IometerShape {
        test_type: document.setup.test_type.number(),
        description: document.setup.description.clone(),
        tests: tests.iter().zip(streams).map(|(test, streams)| test_of(document, test, streams)).collect(),
    }
}

fn test_of(document: &Document, test: &Test, streams: &Streams) -> IometerTest {
    // A results file is wanted: recording nothing would make none, and Iometer records all then.
    let record = match document.setup.record {
        Record::None => Record::All,
        record => record,
    };
    let running: Vec<&str> = workers(document, test, |_, _| true)
        .map(|(_, _, worker)| worker.specs[test.spec_index].as_str())
        .collect();
    let specs = document.specs.iter().filter(|spec| running.contains(&spec.name.as_str()));
    IometerTest {
        spec_index: test.spec_index,
        specs: specs.map(spec_of).collect(),
        rows: icf::rows(document, test, record)
            .into_iter()
            .map(|row| row_of(document, test, streams, row))
            .collect(),
    }
}

/// The workers that run in a test and that are wanted, with the numbers of their manager and their own.
fn workers<'a>(
    document: &'a Document,
    test: &'a Test,
    wanted: impl Fn(usize, usize) -> bool + 'a,
) -> impl Iterator<Item = (usize, usize, &'a Worker)> {
    let all = document.managers.iter().enumerate().flat_map(|(index, manager)| {
        manager.workers.iter().enumerate().map(move |(number, worker)| (index, number, worker))
    });
    all.filter(move |&(index, number, _)| test.managers[index][number].targets > 0 && wanted(index, number))
}

fn spec_of(spec: &Spec) -> IometerSpec {
    let fields = |line: &SpecLine| {
        let SpecLine { size, pct, read, random, delay, burst, align, reply, span: _ } = *line;
        [size, pct, read, random, delay, burst, align, reply]
    };
    IometerSpec {
        name: spec.name.clone(),
        assign: spec.assign.number(),
        lines: spec.lines.iter().map(fields).collect(),
    }
}

fn row_of(document: &Document, test: &Test, of_test: &Streams, row: Row) -> IometerRow {
    let Row { subject, cells } = row;
    let wanted = move |index, number| match subject {
        Subject::All => true,
        Subject::Manager(manager) => index == manager,
        Subject::Worker(manager, worker) | Subject::Target(manager, worker, _) => {
            (index, number) == (manager, worker)
        }
    };
    let summed = || workers(document, test, wanted);
    let streams = summed().flat_map(|(index, number, _)| {
        let targets = match subject {
            Subject::Target(_, _, target) => target..target + 1,
            _ => 0..test.managers[index][number].targets,
        };
        targets.filter_map(move |target| {
            let StreamOf { name, target: section } = of_test.get(&(index, number, target))?;
            // What several targets share is summed up once, and told apart in their own rows alone.
            let is_target = matches!(subject, Subject::Target(..));
            if section.is_some() && !is_target && target > 0 {
                return None;
            }
            Some(IometerStream {
                name: name.clone(),
                target: section.clone().filter(|_| is_target),
                per_transaction: per_transaction(document, test, index, number),
            })
        })
    });
    IometerRow {
        cells,
        streams: streams.collect(),
        start: same(summed().map(|(_, _, worker)| worker.start)),
        max_size: same(summed().map(|(_, _, worker)| worker.max_size)),
        queue_depth: same(summed().map(|(index, number, _)| test.managers[index][number].outstanding)),
        per_connection: same(summed().map(|(_, _, worker)| transactions_per_connection(worker))).flatten(),
    }
}

/// Transactions of a connection of a worker; none where its targets stay open.
fn transactions_per_connection(worker: &Worker) -> Option<i64> {
    (worker.kind == Kind::Tcp && worker.connection_rate).then_some(worker.trans_per_conn)
}

/// How many I/Os of a worker are a transaction in a test: replies count as far as they run, which is over networks.
fn per_transaction(document: &Document, test: &Test, manager: usize, worker: usize) -> f64 {
    let worker = &document.managers[manager].workers[worker];
    let spec = worker.specs.get(test.spec_index).and_then(|name| document.spec(name));
    let replied =
        |spec: &Spec| -> u32 { spec.lines.iter().filter(|line| line.reply > 0).map(|line| line.pct).sum() };
    match (worker.kind, spec) {
        (Kind::Tcp, Some(spec)) => 1.0 + f64::from(replied(spec)) / 100.0,
        _ => 1.0,
    }
}

/// What all have in common.
fn same<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|one| one == first).then_some(first)
}
