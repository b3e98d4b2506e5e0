//! weir against h2load over HTTP/2 in the clear, and weir's punctuality with many streams.

use anyhow::Result;

use super::load::Load;
use super::matrix::{self, LIMIT};
use super::peers::{Peer, versions};
use super::{Fixture, Section};
use crate::rig::clients;
use crate::rig::servers::{Server, Transport};
use crate::rig::table::{self, Table};

const STREAMS: [Load; 6] = [
    Load::of(1).streams(10),
    Load::of(10).streams(10),
    Load::of(100).streams(10),
    Load::of(1).streams(100),
    Load::of(10).streams(100),
    Load::of(100).streams(100),
];

/// One stream, for servers that send each response at once.
const SINGLE: [Load; 3] =
    [Load::of(1).streams(1), Load::of(10).streams(1), Load::of(100).streams(1)];

/// Connections and streams of the loads at a constant rate.
const OPEN: [(&str, &str); 2] = [("-c10000", "1"), ("-c100", "100")];

/// Largest deviation from the rate, in percent.
const DEVIATION_MAX: f64 = 0.1;

pub(super) fn http2(fixture: &Fixture) -> Result<Section> {
    let nginx = fixture.nginx_over(Transport::Http2)?;
    let clients = matrix::clients(fixture, Peer::H2load);
    let mut text = format!(
        "A closed loop of one client thread over HTTP/2 without TLS. {} At least 1.5 is wanted \
         with several streams, 1.2 with one. With one stream nginx 1.22 holds a response back for \
         the delayed ACK of its head, so that load is on other servers. {LIMIT} \
         {}\n",
        fixture.method(fixture.options.seconds, "weir has no warm-up here"),
        versions(&[Peer::H2load])?
    );
    text.push_str(&matrix::compare(fixture, &nginx, &STREAMS, Peer::H2load, &clients)?);
    for server in [fixture.h2o()?, fixture.weir_serve()?] {
        text.push_str(&matrix::compare(fixture, &server, &SINGLE, Peer::H2load, &clients)?);
    }
    let (table, failures) = at_a_rate(fixture, &nginx)?;
    text.push_str(&format!(
        "\n### At a constant rate\n\n10,000/s on nginx; requests sent in the window may be off the \
         plan by {DEVIATION_MAX} %.\n\n{table}"
    ));
    Ok(Section { title: "HTTP/2", text, failures })
}

/// Returns the table of the loads at a constant rate, and what failed in them.
fn at_a_rate(fixture: &Fixture, server: &Server) -> Result<(String, Vec<String>)> {
    let heads =
        ["connections × streams", "sent/s", "off the plan", "never sent", "errors", "client CPU"];
    let (mut table, mut failures) = (Table::new(&heads), Vec::new());
    let duration = format!("-d{}s", fixture.options.span(6, 2));
    for (connections, streams) in OPEN {
        let options = ["-t1", connections, "--streams", streams, "-R10k", &duration];
        let words = options.join(" ");
        eprintln!("bench: http2, {}: {words}", server.name);
        let (run, document) =
            clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)?;
        let sent_rps = document.throughput.sent_rps;
        let deviation = (sent_rps / 10_000.0 - 1.0) * 100.0;
        let errors = clients::failures(&document);
        table.row(&[
            format!("{} × {streams}", &connections[2..]),
            table::rate(sent_rps),
            format!("{deviation:+.3} %"),
            table::thousands(document.accounting.never_sent),
            table::thousands(errors),
            format!("{:.0} %", 100.0 * run.cpu_s / run.wall_s),
        ]);
        if deviation.abs() > DEVIATION_MAX || errors > 0 {
            failures.push(format!("{words}: {deviation:+.3} % off the plan, {errors} errors"));
        }
    }
    Ok((table.finish(), failures))
}
