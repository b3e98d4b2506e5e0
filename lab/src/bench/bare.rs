//! Bare commands: load generators with their default flags, given nothing but the number of
//! connections and, where the program needs one, a length. This module runs each once and reads
//! its output.

use std::ffi::OsString;

use anyhow::{Context, Result, ensure};

use crate::rig::{ClientRun, Fixture, Peer, Server, failures, show, timed};

/// Largest relative difference of a client's own count from the server's: requests in flight at the
/// end.
const MISCOUNT_MAX: f64 = 0.01;

/// All programs, in the order of the columns. The second is the one of the floors.
pub(super) const PEERS: [Peer; 5] = [Peer::Weir, Peer::Wrk, Peer::Ab, Peer::Oha, Peer::Hey];

/// Runs a program once. weir's rate covers its window, and its count the warm-up too.
pub(super) fn run(
    fixture: &Fixture,
    server: &Server,
    peer: Peer,
    connections: u32,
) -> Result<ClientRun> {
    let name = peer.name();
    let program = peer.find().with_context(|| format!("failed to find {name}"))?;
    let place = fixture.directory.join("defaults.json");
    let mut words = vec![program.into_os_string()];
    words.extend(flags(peer, connections, fixture.options.is_quick).split(' ').map(OsString::from));
    if peer == Peer::Weir {
        words.extend(["-o".into(), place.clone().into()]);
    }
    words.push(OsString::from(&server.url));
    let before = server.counts()?;
    let timed = timed(&words, if peer == Peer::Weir { &[0, 3] } else { &[0] })?;
    let counted = server.counts_since(before)?.requests;
    ensure!(counted > 0, "{} has seen no request: {}", server.name, show(&words));
    let (reported, rps) = if peer == Peer::Weir {
        let document = weir_verdict::load(&place).context("failed to read weir's document")?;
        let failures = failures(&document);
        ensure!(failures == 0, "{failures} requests failed: {}", show(&words));
        (document.accounting.sent.total, document.throughput.completed_rps)
    } else {
        let reported = reported(peer, &timed.stdout);
        reported.with_context(|| format!("failed to read what {name} printed"))?
    };
    check_count(reported, counted, &words)?;
    Ok(ClientRun { rps, ..ClientRun::of(counted, &timed) })
}

/// Returns the flags of a program; a quick run takes a second at most.
fn flags(peer: Peer, connections: u32, is_quick: bool) -> String {
    let seconds = if is_quick { 1 } else { 5 };
    match peer {
        Peer::Weir if is_quick => format!("-c{connections} -d300ms --warmup 0"),
        Peer::Wrk if is_quick => format!("-c{connections} -d1s"),
        Peer::Weir | Peer::Wrk => format!("-c{connections}"),
        // The flag `-t` alone limits ab to 50,000 requests.
        Peer::Ab => format!("-k -t {seconds} -n 99999999 -c {connections}"),
        _ => format!("-z {seconds}s -c {connections}"),
    }
}

/// Returns a program's count of good responses, and its requests per second.
fn reported(peer: Peer, stdout: &str) -> Option<(u64, f64)> {
    let printed = peer.read(stdout);
    let is_bad = match peer {
        Peer::Wrk => has_failed(stdout),
        Peer::Ab => printed.errors != Some(0),
        _ => false,
    };
    printed.requests.zip(printed.rate_rps).filter(|_| !is_bad)
}

/// True if wrk met errors other than its timeouts. It still awaits and counts a response that is
/// later than its timeout.
fn has_failed(stdout: &str) -> bool {
    let errors = stdout.split_once("errors: ").map(|(_, errors)| errors);
    errors.is_some_and(|errors| !errors.starts_with("connect 0, read 0, write 0, timeout "))
}

fn check_count(reported: u64, counted: u64, words: &[OsString]) -> Result<()> {
    // A small count may differ by the requests in flight.
    let most = (counted as f64 * MISCOUNT_MAX).max(600.0);
    let is_right = (reported as f64 - counted as f64).abs() <= most;
    ensure!(is_right, "{}: it says {reported} requests, the server {counted}", show(words));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_bare() {
        let check = |is_quick, expected: [&str; 5]| {
            assert_eq!(PEERS.map(|peer| flags(peer, 50, is_quick)), expected);
        };
        let ab = "-k -t 5 -n 99999999 -c 50";
        check(false, ["-c50", "-c50", ab, "-z 5s -c 50", "-z 5s -c 50"]);
        let (weir, ab) = ("-c50 -d300ms --warmup 0", "-k -t 1 -n 99999999 -c 50");
        check(true, [weir, "-c50 -d1s", ab, "-z 1s -c 50", "-z 1s -c 50"]);
    }

    #[test]
    fn figures_of_each_program_are_read() {
        let check = |peer, stdout: &str, expected| assert_eq!(reported(peer, stdout), expected);
        check(
            Peer::Wrk,
            "  98 requests in 3.00s, 1.00MB read\nRequests/sec: 32.7",
            Some((98, 32.7)),
        );
        let with_errors = |errors| {
            format!("  98 requests in 3.00s\n  Socket errors: {errors}\nRequests/sec: 32.7")
        };
        check(Peer::Wrk, &with_errors("connect 0, read 1, write 0, timeout 0"), None);
        let late = with_errors("connect 0, read 0, write 0, timeout 7");
        check(Peer::Wrk, &late, Some((98, 32.7)));
        let ab = "Complete requests:      500\nFailed requests:        0\n\
                  Requests per second:    100.25 [#/sec] (mean)\n";
        check(Peer::Ab, ab, Some((500, 100.25)));
        check(Peer::Ab, &ab.replace("  0\n", "  7\n"), None);
        let oha = "Summary:\n  Success rate: 100.00%\n  Requests/sec:\t64020.5\n\n\
                   Status code distribution:\n  [200] 320103 responses\n";
        check(Peer::Oha, oha, Some((320_103, 64_020.5)));
        let hey = "  Requests/sec:\t28674.1\n\nStatus code distribution:\n  \
                   [200]\t143371 responses\n";
        check(Peer::Hey, hey, Some((143_371, 28_674.1)));
        check(Peer::Hey, "", None);
    }

    #[test]
    fn a_client_that_miscounts_is_found() {
        assert!(check_count(100_000, 100_900, &[]).is_ok());
        assert!(check_count(1_000, 1_500, &[]).is_ok());
        assert!(check_count(100_000, 110_000, &[]).is_err());
        assert!(check_count(0, 1_000, &[]).is_err());
    }
}
