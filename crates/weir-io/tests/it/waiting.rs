//! Return of `wait`, and the validity of its time stamps.

use std::io::{Read, Write};
use std::thread;

use weir_io::{ConnId, Nanos, Segment, SocketOptions, WaitPolicy, Waker};

use crate::driver::{Driver, Machine, SeenKind, tcp};

const POLICIES: [WaitPolicy; 5] = [
    WaitPolicy::Sleep,
    WaitPolicy::Hybrid,
    WaitPolicy::Spin,
    WaitPolicy::Attentive { awake_until: Nanos::MAX },
    WaitPolicy::Gather { events: 8, within_ns: 100_000 },
];

pub(crate) fn never_returns_early<B: Machine>() {
    let (_listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    // Idle connections do not end a wait.
    driver.connected(0, &endpoint, SocketOptions::default());
    for policy in POLICIES {
        for span in [0, 1, 500, 10_000, 49_999, 100_000, 1_234_567, 5_000_000] {
            let until = driver.backend.now().after(span);
            driver.backend.wait(until, policy).expect("wait");
            assert!(driver.backend.now() >= until, "{policy:?} {span}");
            assert!(driver.backend.next().is_none());
        }
        // Many short waits, over which the spin margin adapts.
        for _ in 0..300 {
            let until = driver.backend.now().after(60_000);
            driver.backend.wait(until, policy).expect("wait");
            assert!(driver.backend.now() >= until, "{policy:?}");
        }
        let now = driver.backend.now();
        driver.backend.keep_cpu(now.after(1_000_000));
        driver.backend.wait(now.after(2_000_000), policy).expect("wait");
        assert!(driver.backend.now() >= now.after(2_000_000), "{policy:?} with the CPU kept");
    }
}

/// A sleep ended by an event, followed by one for an earlier or a later instant.
pub(crate) fn waits_for_the_instant_that_counts<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions::default());
    let mut peer = listener.accept().expect("accept").0;
    for (first_ns, then_ns) in [(HOUR_NS, 1_000_000), (1_000_000, 3_000_000), (HOUR_NS, 500)] {
        for policy in [WaitPolicy::Sleep, WaitPolicy::Hybrid] {
            peer.write_all(b"x").expect("write");
            let until = driver.backend.now().after(first_ns);
            while driver.backend.next().is_none() {
                driver.backend.wait(until, policy).expect("wait");
            }
            let until = driver.backend.now().after(then_ns);
            driver.backend.wait(until, policy).expect("wait");
            assert!(driver.backend.now() >= until, "{first_ns} {then_ns} {policy:?}");
            assert!(driver.backend.now() < until.after(HOUR_NS / 2), "{first_ns} {then_ns}");
            assert!(driver.backend.next().is_none());
        }
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;

pub(crate) fn returns_after_a_wake<B: Machine>() {
    let waker = Waker::new().expect("waker");
    let mut driver = Driver::<B>::with(Some(waker.clone()), 16);
    for policy in POLICIES {
        for round in 0..50 {
            let waker = waker.clone();
            let other = thread::spawn(move || {
                (0..round % 5).for_each(|_| thread::yield_now());
                waker.wake();
            });
            if round % 2 == 0 {
                // The wake precedes the wait, which then does not sleep.
                other.join().expect("no panic");
                driver.backend.wait(Nanos::MAX, policy).expect("wait");
            } else {
                driver.backend.wait(Nanos::MAX, policy).expect("wait");
                other.join().expect("no panic");
            }
            assert!(driver.backend.next().is_none());
        }
    }
    // One wake ends one wait.
    let until = driver.backend.now().after(2_000_000);
    driver.backend.wait(until, WaitPolicy::Sleep).expect("wait");
    assert!(driver.backend.now() >= until);
}

pub(crate) fn one_waker_wakes_many<B: Machine>() {
    let waker = Waker::new().expect("waker");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let waker = waker.clone();
            thread::spawn(move || {
                let mut driver = Driver::<B>::with(Some(waker), 16);
                driver.backend.wait(Nanos::MAX, WaitPolicy::Sleep).expect("wait");
            })
        })
        .collect();
    // A wake before a backend exists need not reach it, so wake until all threads have ended.
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        waker.wake();
        thread::yield_now();
    }
}

pub(crate) fn looks_once_when_the_instant_has_passed<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions::default());
    let mut peer = listener.accept().expect("accept").0;
    peer.set_nodelay(true).expect("nodelay");
    for policy in POLICIES {
        driver.backend.wait(Nanos::ZERO, policy).expect("wait");
        assert!(driver.backend.next().is_none());
        // Bytes that have arrived are found without sleeping, eventually.
        peer.write_all(b"x").expect("write");
        loop {
            driver.backend.wait(Nanos::ZERO, policy).expect("wait");
            if driver.backend.next().is_some() {
                break;
            }
        }
        assert!(driver.backend.next().is_none());
    }
}

/// Events are not delayed beyond the limit if there are too few, and gathered events arrive in one
/// batch.
pub(crate) fn gathers_within_bounds<B: Machine>() {
    const CONNS: u32 = 6;
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    let mut peers = Vec::new();
    for conn in 0..CONNS {
        driver.connected(conn, &endpoint, SocketOptions::default());
        peers.push(listener.accept().expect("accept").0);
    }
    let policy = WaitPolicy::Gather { events: 100, within_ns: 1_000_000 };
    for writers in [1, 3, CONNS as usize] {
        peers[..writers].iter_mut().for_each(|peer| peer.write_all(b"x").expect("write"));
        let mut seen = 0;
        while seen < writers {
            // Nothing else could end this wait.
            driver.backend.wait(Nanos::MAX, policy).expect("wait");
            while driver.backend.next().is_some() {
                seen += 1;
            }
        }
        assert_eq!(seen, writers);
    }
    let waiting = thread::spawn(move || {
        // One after the other, while the thread below sleeps.
        peers.iter_mut().for_each(|peer| peer.write_all(b"y").expect("write"));
        peers
    });
    let mut seen = 0;
    while seen < CONNS {
        let events = CONNS - seen;
        let policy = WaitPolicy::Gather { events, within_ns: u32::MAX };
        driver.backend.wait(Nanos::MAX, policy).expect("wait");
        while driver.backend.next().is_some() {
            seen += 1;
        }
    }
    drop(waiting.join());
}

pub(crate) fn stamps_never_flatter<B: Machine>() {
    const ROUNDS: u32 = 500;
    const CONNS: u32 = 4;
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    let clock = driver.clock;
    let mut peers = Vec::new();
    for conn in 0..CONNS {
        driver.connected(conn, &endpoint, SocketOptions::default());
        peers.push(listener.accept().expect("accept").0);
    }
    // Each server sends the time at which it had read the request, and the time at which its
    // response started.
    let servers: Vec<_> = peers
        .into_iter()
        .map(|mut peer| {
            peer.set_nodelay(true).expect("nodelay");
            thread::spawn(move || {
                let mut request = [0; 8];
                while peer.read_exact(&mut request).is_ok() {
                    let read_at = clock.now().0.to_ne_bytes();
                    let responded_at = clock.now().0.to_ne_bytes();
                    peer.write_all(&[read_at, responded_at].concat()).expect("write");
                }
            })
        })
        .collect();
    let id = driver.template(b"request!");
    for round in 0..ROUNDS {
        for conn in 0..CONNS {
            driver.backend.send(ConnId(conn), &[Segment::Template { id, bytes: 8 }]);
        }
        let submitted = driver.backend.submit();
        assert!(submitted.before <= submitted.after);
        let mut responses = 0;
        while responses < CONNS {
            driver.handle(|_, seen| {
                let SeenKind::Received(bytes) = seen.kind else { panic!("{seen:?}") };
                let stamp = |range: std::ops::Range<usize>| {
                    Nanos(u64::from_ne_bytes(bytes[range].try_into().expect("eight")))
                };
                assert_eq!(bytes.len(), 16);
                assert!(submitted.before <= stamp(0..8), "sent before it was, round {round}");
                assert!(stamp(8..16) <= seen.at, "received before it was, round {round}");
                responses += 1;
            });
        }
    }
    drop(driver);
    servers.into_iter().for_each(|server| server.join().expect("no panic"));
}

/// Maximum waits of 2 ms until one spins.
const ATTEMPTS: u32 = 500;

pub(crate) fn reports_the_usage_of_the_thread<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let mut before = driver.backend.usage();
    assert_eq!(before.spun_ns, 0);
    for policy in POLICIES {
        let delay_ns = before.run_delay_ns;
        // Until at least one poll took place before the time was over. On a busy machine there may
        // be none, because a backend sleeps where it would take the CPU from others.
        for attempt in 1.. {
            let until = driver.backend.now().after(2_000_000);
            driver.backend.wait(until, policy).expect("wait");
            let after = driver.backend.usage();
            assert!(after.cpu_ns >= before.cpu_ns && after.run_delay_ns >= before.run_delay_ns);
            let has_spun = after.spun_ns > before.spun_ns;
            before = after;
            match policy {
                WaitPolicy::Sleep | WaitPolicy::Gather { .. } => {
                    assert!(!has_spun, "spun while asleep");
                }
                _ if !has_spun && attempt < ATTEMPTS => continue,
                _ if !has_spun => assert!(after.run_delay_ns > delay_ns, "slept on an idle CPU"),
                _ => {}
            }
            break;
        }
    }
}
