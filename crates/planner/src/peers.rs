//! Peers: targets that are the other end of a connection, and the engine that talks to them.

use crate::remarks::Remarks;
use crate::scene::Load;
use crate::streams::Setting;
use fathom_model::{Engine, Job, Named, PeerAddress, PeerProtocol, TargetKind, TargetOptions};
use fathom_schema::{EngineKind, Peer, Protocol, Quota};
use std::collections::{HashMap, HashSet};

/// Bytes of a datagram at most: those of an IP packet, 65,535, less the headers of IPv4 and UDP.
const DATAGRAM_MAX: u64 = 65_507;

/// The streams of a job that are the other end of another's connection, by name: their places.
pub(crate) fn mirrored(job: &Job) -> HashMap<&str, usize> {
    let named: HashSet<&str> =
        job.streams.iter().filter_map(|stream| stream.options.mirrors.get()).map(String::as_str).collect();
    let streams = job.streams.iter().enumerate().map(|(place, stream)| (stream.name.as_str(), place));
    streams.filter(|(name, _)| named.contains(name)).collect()
}

/// Whether a stream that mirrors another, or is answered, has a connection whose other end fits it.
pub(crate) fn check_mirror(setting: &Setting<'_>, load: &Load<'_>, remarks: &mut Remarks) -> bool {
    let Named { name, span, options } = load.section;
    let Some(of) = options.mirrors.get() else {
        if load.is_paired || load.operations.workload.replies.is_empty() {
            return true;
        }
        let message = format!("the stream \"{name}\" is sent replies, and nobody mirrors it");
        let help =
            "leave reply out of the mix, or add a stream that mirrors it, at the other end of a connection";
        remarks.error("plan.mirror", Some(*span), message, help);
        return false;
    };
    let fault = misfit(setting, load, of);
    if let Some((why, help)) = fault {
        let message = format!("the stream \"{name}\" mirrors \"{of}\", and {why}");
        remarks.error("plan.mirror", options.mirrors.span().or(Some(*span)), message, help);
    }
    fault.is_none()
}

/// Why a stream cannot mirror `of`, and what to do about it.
fn misfit(setting: &Setting<'_>, load: &Load<'_>, of: &str) -> Option<(&'static str, &'static str)> {
    let job = setting.job;
    let Some(place) = load.mirrors else {
        return Some(("there is no such stream", "name the stream at the other end"));
    };
    let other = &job.streams[place];
    let workload_of = |stream| setting.links.workload_of(stream).map(|workload| &workload.name);
    let mirrors_it =
        job.streams.iter().filter(|stream| stream.options.mirrors.get().is_some_and(|name| name == of));
    if place == load.index {
        return Some(("it is itself", "name the stream at the other end"));
    }
    if other.options.mirrors.get().is_some() {
        return Some(("that one mirrors another itself", "let one of the two only be mirrored"));
    }
    if mirrors_it.count() > 1 {
        return Some(("another stream does, too", "give each end one other"));
    }
    if !setting.running.contains_key(other.name.as_str()) {
        return Some(("that one is not in the same stage", "name both in the stage"));
    }
    if workload_of(other) != workload_of(load.section) {
        return Some(("that one has another workload", "give both the same"));
    }
    let end_of = |stream: usize| {
        let targets: Vec<usize> = setting.links.targets_of(stream).collect();
        let [target] = targets[..] else { return None };
        let options = &job.targets[target].options;
        let is_peer = *options.kind.get() == TargetKind::Peer;
        let address = options.address.get().filter(|address| is_peer && address.protocol.is_tcp())?;
        Some((address, options.listen.get().copied(), options.per_connection.get().copied()))
    };
    let (Some((here, listens, lasts)), Some((there, other_listens, other_lasts))) =
        (end_of(load.index), end_of(place))
    else {
        return Some(("each needs one target that is a peer by TCP", "use targets with kind = \"peer\""));
    };
    if here != there {
        return Some(("their targets have different addresses", "give both the same"));
    }
    if !matches!((listens, other_listens), (Some(one), Some(other)) if one != other) {
        return Some((
            "their targets do not say who listens",
            "give one of them listen = true and the other listen = false",
        ));
    }
    if lasts != other_lasts {
        return Some(("their targets differ in per_connection", "give both the same"));
    }
    None
}

/// The peer that a target stands for; `None` for other targets. With all but TCP the end that reads is the one that listens.
pub(crate) fn of_target(options: &TargetOptions, reads: bool) -> Option<Peer> {
    if *options.kind.get() != TargetKind::Peer {
        return None;
    }
    let PeerAddress { protocol, host, port } = options.address.get()?.clone();
    Some(Peer {
        protocol: match protocol {
            PeerProtocol::Tcp => Protocol::Tcp,
            PeerProtocol::Tcp6 => Protocol::Tcp6,
            PeerProtocol::Udp => Protocol::Udp,
            PeerProtocol::Udp6 => Protocol::Udp6,
            PeerProtocol::Unix => Protocol::Unix,
        },
        host,
        port,
        listens: if protocol.is_tcp() { options.listen.get().copied().unwrap_or(reads) } else { reads },
        no_delay: *options.no_delay.get(),
        per_connection: options.per_connection.get().copied(),
    })
}

/// What is wrong with a target that is a peer: one that several streams talk to, or that does not listen as it is told.
pub(crate) fn check(section: &Named<TargetOptions>, users: &[&Load<'_>], reads: bool, remarks: &mut Remarks) {
    let Named { name, span, options } = section;
    let streams = users.len();
    if *options.kind.get() != TargetKind::Peer {
        return;
    }
    if streams > 1 {
        let message = format!("{streams} streams talk to the peer \"{name}\", and a connection has two ends");
        remarks.error("plan.peer", Some(*span), message, "give each stream a target of its own");
    }
    let Some(address) = options.address.get() else { return };
    let largest = users.iter().map(|load| load.operations.largest).max().unwrap_or(0);
    if address.protocol.is_datagram() && largest > DATAGRAM_MAX {
        let message = format!(
            "the peer \"{name}\" is sent blocks of {largest} bytes, more than the {DATAGRAM_MAX} of a datagram"
        );
        remarks.error("plan.peer", options.address.span(), message, "use smaller blocks, or tcp");
    }
    let listens = &options.listen;
    if listens.get().is_some_and(|&listens| listens != reads) && !address.protocol.is_tcp() {
        let message = format!(
            "the peer \"{name}\" is reached by {}, where the end that reads listens",
            address.protocol.word()
        );
        remarks.error("plan.peer", listens.span(), message, "leave listen out, or use tcp");
    }
    if options.per_connection.get().is_some() && !address.protocol.is_tcp() {
        let word = address.protocol.word();
        let message = format!("the peer \"{name}\" has per_connection, and {word} opens no connections");
        remarks.error("plan.peer", options.per_connection.span(), message, "use tcp, or leave it out");
    }
}

/// The engine of a stream that has a peer, or asks for the engine that needs one; `None` when that cannot be.
pub(crate) fn engine(load: &Load<'_>, peers: usize, remarks: &mut Remarks) -> Option<EngineKind> {
    let stream = load.section;
    let (options, operations, name) = (&stream.options, &load.operations, &stream.name);
    let asked = *options.engine.get();
    let place = options.engine.span().or(Some(stream.span));
    let mut faults: Vec<(String, &str)> = Vec::new();
    if !matches!(asked, Engine::Auto | Engine::Net) {
        let message = format!(
            "the stream \"{name}\" asks for the engine {}, and only net talks to a peer",
            asked.word()
        );
        faults.push((message, "leave engine out, or name a file or a block device as target"));
    }
    if peers != 1 {
        let message = format!("the stream \"{name}\" has {peers} peers, and the engine net talks to one");
        faults.push((message, "name one target with kind = \"peer\""));
    }
    if *options.workers.get() > 1 {
        let message = format!(
            "the stream \"{name}\" has {} workers, and a connection has one at each end",
            options.workers.get()
        );
        faults.push((message, "use a stream and a target for each connection"));
    }
    let sync = &operations.workload.sync;
    let syncs = [sync.fsync_every, sync.fdatasync_every, sync.range_every] != [Quota::Unlimited; 3]
        || sync.fsync_at_end
        || sync.syncfs_at_end;
    let lacks = [
        ("reads beside writes", operations.reads && operations.writes && !load.is_paired),
        ("replies", !operations.workload.replies.is_empty() && !load.is_paired),
        ("replies where files end", !operations.workload.replies.is_empty() && operations.ends()),
        ("random offsets", operations.random),
        ("trims", operations.trims),
        ("syncs", syncs),
        ("verification", operations.verification.rule().is_some()),
        ("a trace", load.trace.is_some()),
        ("fresh_files", *options.fresh_files.get()),
    ];
    for (what, _) in lacks.into_iter().filter(|(_, is_asked)| *is_asked) {
        let message = format!("the stream \"{name}\" has {what}, which the engine net does not");
        faults.push((message, "let it only read or only write, one after another"));
    }
    let is_right = faults.is_empty();
    for (message, help) in faults {
        remarks.error("plan.engine-operation", place, message, help);
    }
    is_right.then_some(EngineKind::Net { ping_pong: *options.ping_pong.get() })
}
