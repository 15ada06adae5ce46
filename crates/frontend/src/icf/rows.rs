//! Who has a row in the results of a test, in which order, and what its first columns say: `SaveResults` of
//! `ManagerList.cpp`, `Manager.cpp` and `Worker.cpp` of Iometer 1.1.0. Knows no figures.

use super::cycling::Test;
use super::tree::{Document, IDLE, Kind, Manager, Record, Target, Worker};

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it is about.
    pub subject: Subject,
    /// Its first six columns: target type, target name, access specification, managers, workers, disks.
    pub cells: [String; 6],
}

/// What a row is about, by indices into the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// All managers.
    All,
    /// A manager.
    Manager(usize),
    /// A worker of a manager.
    Worker(usize, usize),
    /// A target of a worker.
    Target(usize, usize, usize),
}

/// All rows of a test, those for processors left out; `record` says which are wanted.
pub fn rows(document: &Document, test: &Test, record: Record) -> Vec<Row> {
    let mut rows = told(document, test, record);
    // Names of managers, workers and specifications can have none in Iometer's window, which is not asked where a file is written by hand.
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        *cell = without_commas(cell);
    }
    rows
}

fn told(document: &Document, test: &Test, record: Record) -> Vec<Row> {
    let scene = Scene { document, test };
    let mut rows = Vec::new();
    if record == Record::None {
        return rows;
    }
    let managers = (0..document.managers.len()).filter(|&index| scene.manager_runs(index));
    let workers: usize = (0..document.managers.len()).map(|index| scene.workers_of(index)).sum();
    let targets: usize = (0..document.managers.len()).map(|index| scene.targets_of(index)).sum();
    let count = |count: usize| count.to_string();
    rows.push(Row {
        subject: Subject::All,
        cells: [
            "ALL".to_owned(),
            "All".to_owned(),
            scene.common_spec(),
            count(managers.clone().count()),
            count(workers),
            count(targets),
        ],
    });
    if record == Record::NoManagers {
        return rows;
    }
    for index in managers {
        let manager = &document.managers[index];
        rows.push(Row {
            subject: Subject::Manager(index),
            cells: [
                "MANAGER".to_owned(),
                manager.name.clone(),
                scene.spec_of(index).unwrap_or_default(),
                String::new(),
                count(scene.workers_of(index)),
                count(scene.targets_of(index)),
            ],
        });
        if record == Record::NoWorkers {
            continue;
        }
        for (number, worker) in manager.workers.iter().enumerate() {
            scene.worker_rows(index, number, worker, record, &mut rows);
        }
    }
    rows
}

struct Scene<'a> {
    document: &'a Document,
    test: &'a Test,
}

impl Scene<'_> {
    fn worker_rows(&self, index: usize, number: usize, worker: &Worker, record: Record, rows: &mut Vec<Row>) {
        let active = self.test.managers[index][number].targets;
        if active == 0 {
            return;
        }
        let empty = String::new;
        rows.push(Row {
            subject: Subject::Worker(index, number),
            cells: [
                "WORKER".to_owned(),
                worker.name.clone(),
                worker.specs[self.test.spec_index].clone(),
                empty(),
                empty(),
                active.to_string(),
            ],
        });
        if record != Record::All {
            return;
        }
        for (place, target) in worker.targets.iter().take(active).enumerate() {
            let manager = &self.document.managers[index];
            let (kind, name) = match &target.kind {
                Kind::Disk => ("DISK", target.name.clone()),
                Kind::Tcp | Kind::Vi => ("NETWORK", connection(manager, worker, target)),
            };
            rows.push(Row {
                subject: Subject::Target(index, number, place),
                cells: [kind.to_owned(), name, empty(), empty(), empty(), empty()],
            });
        }
    }

    /// Workers of a manager that run.
    fn workers_of(&self, manager: usize) -> usize {
        self.test.managers[manager].iter().filter(|share| share.targets > 0).count()
    }

    /// Targets of a manager that run, each as often as workers use it.
    fn targets_of(&self, manager: usize) -> usize {
        self.test.managers[manager].iter().map(|share| share.targets).sum()
    }

    /// Whether a manager takes part: a worker runs, or is idle on purpose.
    fn manager_runs(&self, index: usize) -> bool {
        let is_idle =
            |worker: &Worker| worker.specs.get(self.test.spec_index).is_some_and(|name| name == IDLE);
        self.workers_of(index) > 0 || self.document.managers[index].workers.iter().any(is_idle)
    }

    /// `Manager::GetCommonAccessSpec`: that of the first worker that has one, when all that run have the same; empty when
    /// they have not. `None` when no worker has one at all.
    fn spec_of(&self, index: usize) -> Option<String> {
        let Manager { workers, .. } = &self.document.managers[index];
        let spec = |worker: &Worker| worker.specs.get(self.test.spec_index).cloned();
        let (first, name) = workers.iter().enumerate().find_map(|(at, worker)| Some((at, spec(worker)?)))?;
        let others = workers.iter().enumerate().skip(first + 1);
        let differs = others
            .filter(|(at, _)| self.test.managers[index][*at].targets > 0)
            .any(|(_, worker)| spec(worker).as_ref() != Some(&name));
        Some(if differs { String::new() } else { name })
    }

    /// `ManagerList::GetCommonAccessSpec`: of all managers that have workers, whether or not they run.
    fn common_spec(&self) -> String {
        let managers =
            self.document.managers.iter().enumerate().filter(|(_, manager)| !manager.workers.is_empty());
        let mut specs = managers.map(|(index, _)| self.spec_of(index));
        let Some(first) = specs.next() else { return String::new() };
        if specs.all(|spec| spec == first) { first.unwrap_or_default() } else { String::new() }
    }
}

/// A name as it stands in results, whose cells end at commas.
fn without_commas(name: &str) -> String {
    name.replace([',', '\n', '\r'], " ")
}

/// Both ends of a network target.
fn connection(manager: &Manager, worker: &Worker, target: &Target) -> String {
    let peer = target.manager.as_ref().map_or("", |(_, name)| name);
    format!("{}:{} >> {peer}:{}", manager.name, worker.interface, target.name)
}
