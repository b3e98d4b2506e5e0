//! V18: the kernel's time stamps, as weir reports them, compared with a packet capture of the same
//! run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use xtask::guard::Guarded;
use xtask::shell::{find_program, need_program};

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
    if find_program("tcpdump").is_none() {
        section.must(false, || "there is no tcpdump: cargo xtask setup accuracy".to_owned());
        return Ok(section);
    }
    for io in ["epoll", "uring"] {
        let run = captured_run(fixture, io)?;
        let (mut apart, mut wire, mut early) = (Vec::new(), Vec::new(), 0);
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
    port: u16,
}

impl PacketCapture {
    /// Writes the headers of all packets of a server to a file.
    pub(super) fn start(fixture: &Fixture, server: &Serving) -> Result<PacketCapture> {
        let port = server.url.rsplit(':').next().context("a server has a port")?;
        let port = port.parse().context("failed to read the server's port")?;
        let packets = fixture.directory.join("lo.pcap");
        let flags = format!(
            "-i lo -n -Z root -U --immediate-mode -s {SNAP_BYTES} --time-stamp-precision=nano -w"
        );
        let mut words = vec![need_program("tcpdump", "accuracy")?.into_os_string()];
        words.extend(flags.split(' ').map(OsString::from));
        words.push(packets.clone().into());
        words.extend(["tcp", "port", &format!("{port}")].map(OsString::from));
        let tcpdump = Guarded::start(&words).context("failed to capture packets; as root?")?;
        // tcpdump announces its start only on standard error.
        thread::sleep(Duration::from_secs(1));
        Ok(PacketCapture { tcpdump, packets, port })
    }

    /// Returns the times of [`exchanges`].
    pub(super) fn finish(self) -> Result<Vec<f64>> {
        // tcpdump receives the last packets a little later.
        thread::sleep(Duration::from_millis(500));
        drop(self.tcpdump);
        let bytes = fs::read(&self.packets).context("tcpdump wrote no packets")?;
        fs::remove_file(&self.packets).ok();
        exchanges(&bytes, self.port)
    }
}

/// Runs weir on one connection and returns its requests, each with the time between its two
/// packets.
fn captured_run(fixture: &Fixture, io: &str) -> Result<Vec<(RequestRow, f64)>> {
    let raw = fixture.directory.join("rows.parquet");
    let server = fixture.serve("")?;
    let capturing = PacketCapture::start(fixture, &server)?;
    let window_s = fixture.span(5.0, 2.0);
    let flags = format!("-t1 -c1 -R500 -d{window_s}s --warmup 0 --io {io} --timestamps all");
    fixture.weir(&format!("{flags} --raw {}", raw.display()), &server.url)?;
    let exchanges = capturing.finish()?;
    let mut list = rows::read(&raw)?.list;
    list.retain(|row| row.sent_at.is_some());
    list.sort_by_key(|row| row.sent_at);
    ensure!(list.len() == exchanges.len(), "{} rows, {} captured", list.len(), exchanges.len());
    fs::remove_file(&raw).ok();
    Ok(list.into_iter().zip(exchanges).collect())
}

/// Returns the time from each request's packet to its response's, in nanoseconds, in the order of
/// the responses. A connection has one request at a time, of one packet each. The file is pcap with
/// nanoseconds, of this machine's byte order (pcap-savefile(5)).
fn exchanges(file: &[u8], port: u16) -> Result<Vec<f64>> {
    const MAGIC_NS: u32 = 0xa1b2_3c4d;
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(file.get(at..at + 4)?.try_into().ok()?))
    };
    ensure!(word(0) == Some(MAGIC_NS), "that is no capture with nanoseconds");
    let (mut at, mut sent_ns, mut found) = (24, BTreeMap::<u16, i64>::new(), Vec::new());
    while let (Some(seconds), Some(ns), Some(kept)) = (word(at), word(at + 4), word(at + 8)) {
        let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(ns);
        let Some(packet) = file.get(at + 16..at + 16 + kept as usize) else { break };
        at += 16 + kept as usize;
        match ports_of_payload(packet) {
            Some((from, to)) if to == port => {
                sent_ns.insert(from, time_ns);
            }
            Some((from, to)) if from == port => {
                found.extend(sent_ns.remove(&to).map(|sent_ns| (time_ns - sent_ns) as f64));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the TCP ports of an Ethernet frame that carries data; IPv4 only.
fn ports_of_payload(frame: &[u8]) -> Option<(u16, u16)> {
    const ETHERNET_BYTES: usize = 14;
    let short = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let ip = ETHERNET_BYTES;
    let ip_bytes = usize::from(frame.get(ip)? & 0x0f) * 4;
    let tcp = ip + ip_bytes;
    let tcp_bytes = usize::from(frame.get(tcp + 12)? >> 4) * 4;
    let has_data = usize::from(short(ip + 2)?) > ip_bytes + tcp_bytes;
    has_data.then_some((short(tcp)?, short(tcp + 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(from: u16, to: u16, data: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 20];
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&(40 + data).to_be_bytes());
        frame[34..36].copy_from_slice(&from.to_be_bytes());
        frame[36..38].copy_from_slice(&to.to_be_bytes());
        frame[46] = 0x50;
        frame
    }

    #[test]
    fn packets_are_paired() {
        let mut file = vec![0; 24];
        file[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_ne_bytes());
        let mut packet = |ns: u32, frame: &[u8]| {
            for word in [7, ns, frame.len() as u32, 99] {
                file.extend_from_slice(&u32::to_ne_bytes(word));
            }
            file.extend_from_slice(frame);
        };
        packet(100, &frame(5000, 80, 60));
        packet(140, &frame(80, 5000, 0));
        packet(190, &frame(80, 5000, 162));
        packet(200, &frame(5000, 80, 0));
        packet(300, &frame(5000, 80, 60));
        packet(350, &frame(80, 5000, 162));
        assert_eq!(exchanges(&file, 80).expect("a capture"), [90.0, 50.0]);
        assert!(exchanges(&file[1..], 80).is_err());
    }
}
