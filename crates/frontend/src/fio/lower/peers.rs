//! fio's engine net: the job's other end as a target. What fio's options mean there, observed with fio 3.33.

use super::super::ParsedJob;
use super::super::extras::ReportUnits;
use super::super::settings::Settings;
use super::super::values::Size;
use super::targets::{Place, region_of, region_span};
use super::workload::Lowered;
use super::{Lowering, amounts};
use fathom_model::{Amount, Named, PeerAddress, PeerProtocol, StreamOptions, TargetKind, TargetOptions};
use fathom_units::Bytes;
use std::net::IpAddr;

/// fio writes the bandwidth of a network in bits unless it is told otherwise; not that of netsplice.
pub(super) fn units(settings: &Settings) -> ReportUnits {
    let units = settings.report.units;
    let is_bits = units.is_bits || settings.engine.name == "net" && !settings.has("unit_base");
    ReportUnits { is_bits, ..units }
}

impl Lowering<'_> {
    /// The peer of a clone as a target, and the bounds of what is sent or received; returns the target's name.
    pub(super) fn peer(
        &mut self,
        parsed: &ParsedJob,
        place: Place,
        subjob: u32,
        lowered: &Lowered,
        options: &mut StreamOptions,
    ) -> String {
        let ParsedJob { name, section: _, span, settings, options: _ } = parsed;
        let set = &settings.engine;
        let at = |option: &str| settings.span(option, *span);
        let protocol = match set.protocol.as_str() {
            "udp" => PeerProtocol::Udp,
            "udpv6" => PeerProtocol::Udp6,
            "tcpv6" => PeerProtocol::Tcp6,
            "unix" => PeerProtocol::Unix,
            _ => PeerProtocol::Tcp,
        };
        let listens = if protocol.is_tcp() { set.listens } else { lowered.reads };
        let host = self.host(parsed, protocol, listens);
        let (port, wrong) = match (protocol, set.port) {
            (PeerProtocol::Unix, 0) => (0, None),
            (PeerProtocol::Unix, _) => (0, Some(("port", "protocol=unix has no port", "leave port out"))),
            (_, 0) => (1, Some(("port", "ioengine=net needs a port, as fio does", "add port=9000"))),
            // Each clone has a port of its own, from the first on.
            (_, port) => (port.saturating_add(u64::from(subjob)), None),
        };
        let listen = (set.listens && !protocol.is_tcp()).then_some((
            "listen",
            "fio has listen with TCP only: else the job that reads listens",
            "leave it out",
        ));
        let far = u16::try_from(port).is_err().then_some((
            "port",
            "the clones of the job need ports beyond 65535",
            "use a lower port: each clone has one of its own",
        ));
        let sizeless = (!matches!(settings.operations.size, Some(Size::Bytes(1..)))).then_some((
            "size",
            "ioengine=net needs a size in bytes, as fio does",
            "add size=1g",
        ));
        for (option, message, help) in [wrong, listen, far, sizeless].into_iter().flatten() {
            self.faults.error("fio.contradiction", at(option), message, help);
        }
        if set.name == "netsplice" {
            let message = "netsplice is net: bytes are sent and received, and pass no pipe";
            self.faults.warn("fio.approximate", at("ioengine"), message, "");
        }
        let address = PeerAddress { protocol, host, port: u16::try_from(port).unwrap_or(u16::MAX) };
        let mut target = TargetOptions::default();
        target.kind.set(TargetKind::Peer, at("ioengine"));
        if protocol.is_tcp() {
            target.listen.set(listens, at("listen"));
        }
        if set.no_delay {
            target.no_delay.set(true, at("nodelay"));
        }
        if let Some(Size::Bytes(size)) = settings.operations.size {
            target.size.set(Amount::Bytes(Bytes(size)), at("size"));
        }
        let place = match place {
            Place::Paths(_) => place,
            Place::Set { .. } => Place::Paths(std::sync::Arc::new(vec![name.clone()])),
        };
        if let Some(region) = region_of(settings, &place, lowered.smallest, false) {
            options.size.set(region, region_span(settings, *span));
        }
        amounts::set(options, parsed, lowered, place.files(), true);
        let unique = self.targets.unique_name(&address.to_string());
        target.address.set(address, at("hostname"));
        self.job.targets.push(Named { name: unique.clone(), span: *span, options: target });
        unique
    }

    /// The host of a job, or the path of its socket. fio has one option for it and `filename`.
    fn host(&mut self, parsed: &ParsedJob, protocol: PeerProtocol, listens: bool) -> String {
        let settings = &parsed.settings;
        let place = settings.span("hostname", settings.span("ioengine", parsed.span));
        let named = Some(&settings.engine.host).filter(|host| !host.is_empty());
        if let Some(host) = named.or_else(|| settings.files.names.first()) {
            if host.parse::<IpAddr>().is_ok_and(|address| address.is_multicast()) {
                let message =
                    format!("hostname={host} is an address of many (multicast), which is not built");
                self.faults.error("fio.not-built", place, message, "name one host");
            }
            return host.clone();
        }
        if listens && protocol != PeerProtocol::Unix {
            let message = "the job listens on this host only, where fio listens for all";
            let help = "hostname=0.0.0.0 (or ::) and --allow-net on the command line let other hosts in";
            self.faults.warn("fio.listens-here", place, message, help);
        } else {
            let message = "ioengine=net needs a hostname, as fio does, or listen";
            self.faults.error("fio.contradiction", place, message, "add hostname=localhost, or listen");
        }
        "localhost".to_owned()
    }
}
