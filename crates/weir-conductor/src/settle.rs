//! The wait between two trials: until enough ports are free, and the target is as idle as it was
//! before the first trial.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use weir_result::study::Settling;
use weir_runner::{Interrupts, RunSpec, Runner};

/// Least pause between two trials.
const PAUSE: Duration = Duration::from_millis(200);

/// Longest wait: as long as a port is in TIME_WAIT, and a little more.
const LONGEST: Duration = Duration::from_secs(65);

/// Longest wait for the target's idle latency.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// Ratio to the idle latency before the first trial up to which a target counts as idle.
const IDLE_RATIO: f64 = 1.5;

/// Waits after a trial of `spec`. `idle_ns` is the idle latency before the first trial, if it is
/// known.
pub(crate) fn settle(
    runner: &dyn Runner,
    spec: &RunSpec,
    idle_ns: Option<u64>,
    interrupts: &Interrupts,
) -> Settling {
    let from = Instant::now();
    let is_interrupted = || interrupts.received().is_some();
    thread::sleep(PAUSE);
    let (limit, port) = (ports() / 2, spec.target.port());
    while time_wait(port) > limit && from.elapsed() < LONGEST && !is_interrupted() {
        thread::sleep(PAUSE);
    }
    let ports_are_free = time_wait(port) <= limit;
    let idle_from = Instant::now();
    let (mut found, mut is_idle) = (None, true);
    // A script's requests may change the target, so they are not sent between trials.
    if let Some(idle_ns) = idle_ns.filter(|_| spec.script.is_none()) {
        loop {
            found = runner.idle_latency(spec, interrupts).ok().flatten();
            is_idle = found.is_none_or(|ns| ns as f64 <= IDLE_RATIO * idle_ns as f64);
            if is_idle || idle_from.elapsed() > LONGEST_IDLE || is_interrupted() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    Settling {
        waited_ns: u64::try_from(from.elapsed().as_nanos()).unwrap_or(u64::MAX),
        time_wait: time_wait(port),
        idle_ns: found,
        is_incomplete: !(ports_are_free && is_idle),
    }
}

/// Connections of this machine to `port` in TIME_WAIT, which keep the ports that they came from; 0
/// if unknown (proc(5), /proc/net/tcp). Those that the server closed are on its side and keep none.
fn time_wait(port: Option<u16>) -> u64 {
    let of = |path| fs::read_to_string(path).unwrap_or_default();
    let tables = [of("/proc/net/tcp"), of("/proc/net/tcp6")];
    tables.iter().map(|table| waiting_in(table, port)).sum()
}

/// Connections of one table of the kernel to `port` in TIME_WAIT.
fn waiting_in(table: &str, port: Option<u16>) -> u64 {
    let is_one = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        let peer = fields.next().and_then(|peer| peer.rsplit_once(':'));
        let peer = peer.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        fields.next() == Some("06") && peer.is_some() && peer == port
    };
    table.lines().filter(is_one).count() as u64
}

/// Ports that connections may come from (ip(7), ip_local_port_range).
fn ports() -> u64 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let range: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match range[..] {
        [low, high] if low <= high => high - low + 1,
        _ => 28_232,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_time_wait_are_those_to_the_target() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0100007F:C350 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0
   2: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0
   3: 0100007F:C352 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0
   4: 0100007F:C353 0100007F:1F91 06 00000000:00000000 03:00001770 00000000     0
   5: 0100007F:1F90 0100007F:C354 06 00000000:00000000 03:00001770 00000000     0
";
        assert_eq!(waiting_in(table, Some(8080)), 2);
        assert_eq!((waiting_in(table, Some(8082)), waiting_in(table, None)), (0, 0));
    }
}
