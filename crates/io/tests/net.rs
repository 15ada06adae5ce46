//! The engine for connections against plain sockets: what it takes for one operation, for the end, and for no answer yet.

use fathom_io::{Buffers, Completion, Engine, Net, OpenTarget, Operation, Setup, TargetHandle, Wait};
use fathom_schema::{OperationKind, Peer, Protocol};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::rc::Rc;

const BLOCK: u32 = 4096;
/// fio's message that closes a link, as fio 3.33 sends it on x86.
const CLOSE: [u8; 8] = [0x6b, 0x6e, 0x69, 0x6c, 0x89, 0, 0, 0];

fn open(protocol: Protocol, port: u16, listens: bool, ping_pong: bool) -> Net {
    let peer =
        Peer { protocol, host: "localhost".to_owned(), port, listens, no_delay: false, per_connection: None };
    let buffers = Rc::new(Buffers::new(1, BLOCK));
    let targets = vec![OpenTarget {
        handle: TargetHandle::Peer(peer),
        size: 1 << 20,
        trim_by: fathom_schema::TrimBy::Discard,
    }];
    let mut engine = Net::new(ping_pong);
    engine.open(Setup { targets, queue_depth: 1, buffers, seed: 0 }).expect("it can be opened");
    engine
}

fn one(engine: &mut Net, kind: OperationKind) -> i32 {
    let operation =
        Operation { slot: 0, kind, target: 0, offset: 0, length: BLOCK, data_only: false, range_flags: 0 };
    let mut into = [Completion::default()];
    loop {
        engine.push(&operation);
        let found =
            engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut into).expect("it can be reaped");
        assert_eq!(found, 1);
        if into[0].result != -libc::EAGAIN {
            return into[0].result;
        }
    }
}

#[test]
fn a_stream_is_cut_into_blocks_and_ends_with_fios_message_or_without() {
    for farewell in [&CLOSE[..], &[]] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has one").port();
        let mut engine = open(Protocol::Tcp, port, false, false);
        assert!(engine.meet(&mut || true).expect("someone listens"));
        let (mut other, _) = listener.accept().expect("it came");
        // In pieces that are no blocks.
        for piece in [&[1; 1000][..], &[1; 3096], &[2; 100], farewell] {
            other.write_all(piece).expect("it is taken");
        }
        drop(other);
        let taken = [(); 3].map(|()| one(&mut engine, OperationKind::Read));
        assert_eq!(taken, [4096, 100, 0], "{farewell:?}");
        engine.close();
    }
}

#[test]
fn an_operation_goes_on_where_it_waited() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has one").port();
    let mut engine = open(Protocol::Tcp, port, false, false);
    assert!(engine.meet(&mut || true).expect("someone listens"));
    let (mut other, _) = listener.accept().expect("it came");
    other.write_all(&[1; 1000]).expect("it is taken");
    let operation = Operation {
        slot: 0,
        kind: OperationKind::Read,
        target: 0,
        offset: 0,
        length: BLOCK,
        data_only: false,
        range_flags: 0,
    };
    let mut into = [Completion::default()];
    engine.push(&operation);
    engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut into).expect("it can be reaped");
    assert_eq!(into[0].result, -libc::EAGAIN, "the rest is not there");
    other.write_all(&[2; 3096]).expect("it is taken");
    assert_eq!(one(&mut engine, OperationKind::Read), 4096);
    engine.close();
}

#[test]
fn writes_say_goodbye_and_a_peer_that_hung_up_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has one").port();
    let mut engine = open(Protocol::Tcp, port, false, false);
    assert!(engine.meet(&mut || true).expect("someone listens"));
    let (mut other, _) = listener.accept().expect("it came");
    assert_eq!(one(&mut engine, OperationKind::Write), 4096);
    engine.close();
    let mut all = Vec::new();
    other.read_to_end(&mut all).expect("it can be read");
    assert!(all.len() == 4096 + 8 && all.ends_with(&CLOSE), "{}", all.len());

    let mut engine = open(Protocol::Tcp, port, false, false);
    assert!(engine.meet(&mut || true).expect("someone listens"));
    drop(listener.accept().expect("it came"));
    // The first may still find room in the socket.
    let errno = (0..100).map(|_| one(&mut engine, OperationKind::Write)).find(|result| *result < 0);
    assert!(matches!(errno, Some(errno) if [-libc::EPIPE, -libc::ECONNRESET].contains(&errno)), "{errno:?}");
    engine.close();
}

#[test]
fn datagrams_are_answered_and_their_end_is_told() {
    let other = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let port = other.local_addr().expect("it has one").port();
    let mut engine = open(Protocol::Udp, port, false, true);
    assert!(engine.meet(&mut || true).expect("nobody has to be there"));
    let mut block = vec![0; 8192];
    let (bytes, from) = other.recv_from(&mut block).expect("it came");
    assert_eq!(&block[..bytes], [0x6c, 0x69, 0x6e, 0x6b, 0, 0, 0, 0x98], "as fio 3.33 opens a link");
    let echo = std::thread::spawn(move || {
        let (bytes, from) = other.recv_from(&mut block).expect("it came");
        other.send_to(&block[..bytes], from).expect("it goes");
        let (bytes, _) = other.recv_from(&mut block).expect("it came");
        (bytes, block[..8].to_vec())
    });
    assert_eq!(one(&mut engine, OperationKind::Write), 4096, "with {from}");
    engine.close();
    assert_eq!(echo.join().expect("it ends"), (8, CLOSE.to_vec()));
}

#[test]
fn a_wait_can_be_called_off() {
    let free =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
    let mut engine = open(Protocol::Tcp, free.port(), true, false);
    let mut looks = 0;
    let mut goes_on = || {
        looks += 1;
        looks < 3
    };
    assert!(!engine.meet(&mut goes_on).expect("nothing went wrong"));
    engine.close();
}

/// Both ends as engines: they part after the same operation, and meet again.
#[test]
fn a_connection_that_is_opened_anew_goes_on() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.local_addr().expect("it has one").port()
    };
    let mut server = open(Protocol::Tcp, port, true, false);
    let client = std::thread::spawn(move || {
        let mut client = open(Protocol::Tcp, port, false, false);
        for _ in 0..3 {
            assert!(client.meet(&mut || true).expect("someone listens"));
            assert_eq!(one(&mut client, OperationKind::Write), 4096);
            assert_eq!(one(&mut client, OperationKind::Read), 4096);
            client.part();
        }
        client.close();
    });
    for _ in 0..3 {
        assert!(server.meet(&mut || true).expect("it comes"));
        assert_eq!(
            one(&mut server, OperationKind::Read),
            4096,
            "whole, and not what another connection left"
        );
        assert_eq!(one(&mut server, OperationKind::Write), 4096);
        server.part();
    }
    client.join().expect("its checks hold");
    server.close();
}
