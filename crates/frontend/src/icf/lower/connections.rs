//! Network workers: each end of a connection is a stream with a target of its own. The server listens, the client mirrors it.

use super::super::network::Place;
use super::super::tree::{Spec, SpecLine, Worker};
use super::{Lowering, Use};
use fathom_model::{Amount, Named, PeerAddress, PeerProtocol, StreamOptions, TargetKind, TargetOptions};
use fathom_units::Bytes;
use std::net::IpAddr;

/// Where sequential places of a connection begin anew: of more bytes than it moves, as they mean nothing there.
const PLACES: Bytes = Bytes::gib(1 << 20);

impl Lowering<'_> {
    /// What a stream has that is one end of a connection; `None` after a complaint.
    pub(super) fn end_of_connection(
        &mut self,
        place: Place,
        spec_index: usize,
        spec: &Spec,
        options: &mut StreamOptions,
    ) -> Option<()> {
        let document = self.document;
        let worker = &document.managers[place.0].workers[place.1];
        let server = self.servers.get(&place).copied();
        let of_server = server.unwrap_or(place);
        // A server whose client is nowhere has been complained about.
        let number = self.servers.values().position(|&one| one == of_server)?;
        let span = worker.targets[0].span;
        let address = self.address(of_server, number)?;
        let mut target = TargetOptions::default();
        target.kind.set(TargetKind::Peer, span);
        target.address.set(address, span);
        target.listen.set(server.is_none(), span);
        target.no_delay.set(true, span);
        target.size.set(Amount::Bytes(PLACES), span);
        if let Some(operations) = self.per_connection(worker, spec, server.is_none()) {
            target.per_connection.set(operations, worker.depth_span);
        }
        let peer = worker.targets[0].manager.as_ref().map_or("", |(_, name)| name);
        let name = self.names[0].unique(&format!("{} >> {peer}", document.managers[place.0].name));
        self.job.targets.push(Named { name: name.clone(), span, options: target });
        options.targets.set(vec![name], span);
        options.workload.set(self.workload(spec, Use::Network), spec.span);
        match server {
            None => options.seed.set(
                worker.fixed_seed.map_or(fathom_model::Seed::Fresh, fathom_model::Seed::Fixed),
                worker.span,
            ),
            Some((manager, number)) => {
                let name = self.made.get(&(manager, number, 0, spec_index, None))?.clone();
                options.mirrors.set(name, worker.span);
            }
        }
        self.set_bursts(options, spec);
        Some(())
    }

    /// Where a server listens: at the address of its interface or manager where that is this machine's, else only for those on
    /// this machine.
    fn address(&mut self, (manager, worker): Place, number: usize) -> Option<PeerAddress> {
        let section = &self.document.managers[manager];
        let worker = &section.workers[worker];
        let named = [worker.interface.as_str(), section.address.as_str()].map(str::trim);
        let addresses = named.iter().filter_map(|name| name.parse::<IpAddr>().ok());
        let here = addresses.into_iter().find(|address| (self.surroundings.is_here)(&address.to_string()));
        let stranger = named.iter().find(|name| !name.is_empty() && !name.eq_ignore_ascii_case("localhost"));
        if let (None, Some(name)) = (here, stranger) {
            let message = format!(
                "\"{}\" talks over the loopback of this machine: {name} is no address of it",
                worker.name
            );
            let help = "run it where that address is; both ends of a connection are on one machine here";
            self.warn_once("icf.loopback", worker.span, &message, help);
        }
        let Some(port) = u16::try_from(number).ok().and_then(|n| self.surroundings.first_port.checked_add(n))
        else {
            let message = format!("port {} and {number} are beyond 65535", self.surroundings.first_port);
            self.error_once("icf.bad-value", worker.span, message, "name a lower first port");
            return None;
        };
        let protocol = match here {
            Some(IpAddr::V6(_)) => PeerProtocol::Tcp6,
            _ => PeerProtocol::Tcp,
        };
        let host = here.map_or_else(|| "localhost".to_owned(), |address| address.to_string());
        Some(PeerAddress { protocol, host, port })
    }

    /// Operations of one connection, replies among them, where connections are tested.
    fn per_connection(&mut self, worker: &Worker, spec: &Spec, is_server: bool) -> Option<u64> {
        if !worker.connection_rate {
            return None;
        }
        let lines = || spec.lines.iter().filter(|line| line.pct > 0);
        let has_reply = |line: &SpecLine| line.reply > 0;
        let is_uneven = lines().any(has_reply) && !lines().all(has_reply);
        if is_uneven && worker.trans_per_conn > 0 && is_server {
            let message = format!(
                "\"{}\" tests the connection rate, and only some lines of \"{}\" have a reply: a connection is closed after \
                 some operations, of which a transaction may be one or two",
                worker.name, spec.name
            );
            self.warn_once("icf.approximate", worker.span, &message, "give all lines a reply, or none");
        }
        let operations = if lines().all(has_reply) { 2 } else { 1 };
        Some(u64::try_from(worker.trans_per_conn).unwrap_or(0).saturating_mul(operations))
    }

    /// Says that a network worker has nobody to talk to.
    pub(super) fn say_lost(&mut self, manager: usize, worker: usize) {
        let worker = &self.document.managers[manager].workers[worker];
        let name = worker.targets[0].manager.as_ref().map_or("", |(_, name)| name);
        let message =
            format!("\"{}\" talks to the manager \"{name}\", which the file does not have", worker.name);
        self.unless_only_looked_at(
            "icf.no-manager",
            worker.targets[0].span,
            &message,
            "add the manager, or name one of the file",
        );
    }
}
