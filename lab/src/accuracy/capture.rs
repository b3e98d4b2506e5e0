//! V18: the kernel's time stamps, as weir reports them, compared with a packet capture of the same
//! run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use xtask::guard::Guarded;
use xtask::shell::{need_program, output};

use super::distribution::quantile;
use super::rows::{self, RequestRow};
use crate::rig::{Fixture, Section, Serving, thousands};

/// Largest difference of the two at the median (METHOD 2.1).
const APART_MAX_NS: f64 = 5_000.0;

/// Bytes kept of each packet: the Ethernet, IPv4 and TCP headers with all options.
const SNAP_BYTES: &str = "134";

/// Runs case V18 of METHOD 2.1.
pub(super) fn capture(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "kernel stamps and packets",
        "Do the kernel's timestamps agree with packets that tcpdump saw?",
        "No answer is read before the kernel has it; the median of wire time less the time between \
         the two packets is within 5 µs of 0.",
    );
    for io in ["epoll", "uring"] {
        let run = captured_run(fixture, io)?;
        let mut apart = Vec::new();
        let mut wire = Vec::new();
        let mut early = 0;
        for (row, between_ns) in &run {
            let (Some(tx_at), Some(rx_at)) = (row.tx_at, row.rx_at) else { continue };
            early += u64::from(rx_at > row.ended_at);
            let wire_ns = rx_at as f64 - tx_at as f64;
            wire.push(wire_ns);
            apart.push(wire_ns - between_ns);
        }
        let stamped = apart.len();
        ensure!(stamped > 0, "no request has stamps of the kernel");
        for times in [&mut apart, &mut wire] {
            times.sort_by(f64::total_cmp);
        }
        let us = |ns: f64| format!("{:.1} µs", ns / 1e3);
        let median = quantile(&apart, 0.5);
        section.row(&[
            ("engine", &io),
            ("requests", &thousands(stamped as u64)),
            ("read early", &thousands(early)),
            ("apart p1", &us(quantile(&apart, 0.01))),
            ("p50", &us(median)),
            ("p99", &us(quantile(&apart, 0.99))),
            ("wire time p50", &us(quantile(&wire, 0.5))),
        ]);
        section.must(early == 0, || format!("{io}: {early} answers were read before they came"));
        section.must(stamped * 10 >= run.len() * 9, || {
            format!("{io}: {stamped} of {} requests have both stamps", run.len())
        });
        section.must_if_quiet(median.abs() <= APART_MAX_NS, || {
            format!("{io}: the median is {} apart", us(median))
        });
    }
    section.verdict("Wire time minus the time between the two packets:");
    section.show_columns(&["engine", "requests", "read early", "p50"]);
    section.note("Packets are noted by the interface, stamps of requests just before it.");
    Ok(section)
}

/// A running tcpdump, killed when the value is dropped.
pub(super) struct PacketCapture {
    tcpdump: Guarded,
    packets: PathBuf,
    /// Address and port, as tcpdump prints them.
    server: String,
}

impl PacketCapture {
    /// Writes the headers of all packets of a server to a file.
    pub(super) fn start(fixture: &Fixture, server: &Serving) -> Result<PacketCapture> {
        let address = server.url.trim_start_matches("http://");
        let (host, port) = address.split_once(':').context("a server has a port")?;
        let packets = fixture.directory.join("lo.pcap");
        let flags = format!(
            "-i lo -n -Z root -U --immediate-mode -s {SNAP_BYTES} --time-stamp-precision=nano -w"
        );
        let mut words = vec![need_program("tcpdump", "accuracy")?.into_os_string()];
        words.extend(flags.split(' ').map(OsString::from));
        words.push(packets.clone().into());
        words.extend(["tcp", "port", port].map(OsString::from));
        let tcpdump = Guarded::start(&words).context("failed to capture packets; as root?")?;
        // tcpdump announces its start only on standard error.
        thread::sleep(Duration::from_secs(1));
        Ok(PacketCapture { tcpdump, packets, server: format!("{host}.{port}") })
    }

    /// Returns the times of [`exchanges`].
    pub(super) fn finish(self) -> Result<Vec<f64>> {
        // tcpdump receives the last packets a little later.
        thread::sleep(Duration::from_millis(500));
        drop(self.tcpdump);
        let mut tcpdump = Command::new(need_program("tcpdump", "accuracy")?);
        tcpdump.args(["-n", "-q", "-tt", "--time-stamp-precision=nano", "-r"]).arg(&self.packets);
        let packets = output(&mut tcpdump).context("tcpdump wrote no packets")?;
        fs::remove_file(&self.packets).ok();
        exchanges(&packets, &self.server)
    }
}

/// Runs weir on one connection and returns its requests, each with the time between its two
/// packets.
fn captured_run(fixture: &Fixture, io: &str) -> Result<Vec<(RequestRow, f64)>> {
    let server = fixture.serve("")?;
    let capturing = PacketCapture::start(fixture, &server)?;
    let window_s = fixture.span(5.0, 2.0);
    let flags = format!("-t1 -c1 -R500 -d{window_s}s --warmup 0 --io {io} --timestamps all");
    let (_, rows) = rows::weir(fixture, &flags, &server.url)?;
    let exchanges = capturing.finish()?;
    let mut list = rows.list;
    list.retain(|row| row.sent_at.is_some());
    list.sort_by_key(|row| row.sent_at);
    ensure!(list.len() == exchanges.len(), "{} rows, {} captured", list.len(), exchanges.len());
    Ok(list.into_iter().zip(exchanges).collect())
}

/// Returns the time from each request's packet to its response's, in nanoseconds, in the order of
/// the responses, from the lines that tcpdump(1) prints. A connection has one request at a time, of
/// one packet each.
fn exchanges(packets: &str, server: &str) -> Result<Vec<f64>> {
    let mut sent_ns = BTreeMap::new();
    let mut found = Vec::new();
    for line in packets.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [time, "IP", from, ">", to, "tcp", bytes] = words[..] else {
            bail!("that is no packet with its length: {line}");
        };
        let to = to.trim_end_matches(':');
        // Seconds with nine digits behind the point.
        let time_ns: i64 = time.replace('.', "").parse().context("a packet has no time")?;
        match bytes {
            "0" => {}
            _ if to == server => drop(sent_ns.insert(from, time_ns)),
            _ => found.extend(sent_ns.remove(to).map(|sent_ns| (time_ns - sent_ns) as f64)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_paired() {
        let packets = "\
            7.000000100 IP 127.0.0.1.5000 > 127.0.0.1.80: tcp 60\n\
            7.000000140 IP 127.0.0.1.80 > 127.0.0.1.5000: tcp 0\n\
            7.999999990 IP 127.0.0.1.80 > 127.0.0.1.5000: tcp 162\n\
            7.999999999 IP 127.0.0.1.5000 > 127.0.0.1.80: tcp 0\n\
            8.000000300 IP 127.0.0.1.5000 > 127.0.0.1.80: tcp 60\n\
            8.000000350 IP 127.0.0.1.80 > 127.0.0.1.5000: tcp 162\n";
        assert_eq!(exchanges(packets, "127.0.0.1.80").expect("a capture"), [999_999_890.0, 50.0]);
        assert!(exchanges("7.0 ARP\n", "127.0.0.1.80").is_err());
    }
}
