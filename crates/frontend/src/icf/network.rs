//! The other ends of network workers: for each that serves, Iometer makes a client on the manager of its target, which no file
//! names. Knows who talks to whom; what they say and where is lowered elsewhere.

use super::cycling::{Share, Test};
use super::tree::{Document, Kind, Manager, Target, Worker};
use std::collections::BTreeMap;

/// A worker, by the numbers of its manager and its own.
pub(super) type Place = (usize, usize);

/// A configuration with its clients, and who serves each of them.
#[derive(Debug, Clone)]
pub(super) struct Expanded {
    pub(super) document: Document,
    /// By client.
    pub(super) servers: BTreeMap<Place, Place>,
    /// Network workers whose target is of no manager in the file.
    pub(super) lost: Vec<Place>,
}

/// The clients that Iometer makes, in its order: each is a worker more of the manager that its server aims at.
pub(super) fn expand(document: &Document) -> Expanded {
    let mut expanded = Expanded { document: document.clone(), servers: BTreeMap::new(), lost: Vec::new() };
    for (index, manager) in document.managers.iter().enumerate() {
        for (number, worker) in manager.workers.iter().enumerate().filter(|(_, worker)| serves(worker)) {
            let server = (index, number);
            let Some(there) = worker.targets.first().and_then(|target| manager_of(document, target)) else {
                expanded.lost.push(server);
                continue;
            };
            let clients = &mut expanded.document.managers[there].workers;
            expanded.servers.insert((there, clients.len()), server);
            clients.push(client_of(manager, worker));
        }
    }
    expanded
}

/// The clients that a test has beside the workers of the file: the manager of each, its name and the worker that it serves.
pub fn clients<'a>(document: &'a Document, test: &'a Test) -> Vec<Client<'a>> {
    let servers = expand(document).servers;
    let active =
        servers.into_iter().filter(|(_, (index, server))| test.managers[*index][*server].targets > 0);
    active
        .map(|((there, _), (index, server))| Client {
            manager: &document.managers[there],
            server_manager: &document.managers[index],
            server: &document.managers[index].workers[server],
        })
        .collect()
}

/// A client of a network worker.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// Whose it is.
    pub manager: &'a Manager,
    /// Whose its server is.
    pub server_manager: &'a Manager,
    /// Its server.
    pub server: &'a Worker,
}

/// Whether a worker has a client.
fn serves(worker: &Worker) -> bool {
    worker.kind == Kind::Tcp && !worker.targets.is_empty()
}

/// The manager at the other end: of its number and name, else the first of its name.
fn manager_of(document: &Document, target: &Target) -> Option<usize> {
    let (id, name) = target.manager.as_ref()?;
    let is_called = |manager: &Manager| manager.name.eq_ignore_ascii_case(name);
    let managers = &document.managers;
    let exactly = managers.iter().position(|manager| manager.id == *id && is_called(manager));
    exactly.or_else(|| managers.iter().position(is_called))
}

/// The client of a worker, as Iometer calls it: with the same specifications, the other way round.
fn client_of(manager: &Manager, server: &Worker) -> Worker {
    let target = |target: &Target| Target {
        name: server.interface.clone(),
        kind: Kind::Tcp,
        manager: Some((manager.id, manager.name.clone())),
        span: target.span,
    };
    Worker {
        name: format!("[{}]", server.name),
        interface: server.targets[0].name.clone(),
        targets: server.targets.iter().map(target).collect(),
        ..server.clone()
    }
}

/// A test with its clients, which run whenever their servers do.
pub(super) fn with_clients(test: &Test, servers: &BTreeMap<Place, Place>) -> Test {
    let mut test = test.clone();
    for (&(there, number), &(index, server)) in servers {
        debug_assert_eq!(test.managers[there].len(), number, "clients follow the workers of the file");
        let Share { targets, outstanding: _ } = test.managers[index][server];
        test.managers[there].push(Share { targets, outstanding: 1 });
    }
    test
}
