//! weir against h2load over HTTP/2 in the clear, and weir's punctuality with many streams.

use anyhow::Result;

use super::Fixture;
use super::load::Load;
use super::matrix::{self, LIMIT};
use super::peers::{Peer, versions};
use crate::rig::clients;
use crate::rig::section::Section;
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

const QUESTION: &str = "What does a request over HTTP/2 cost beside h2load's?";

pub(super) fn http2(fixture: &Fixture) -> Result<Section> {
    let nginx = fixture.nginx_over(Transport::Http2)?;
    let clients = matrix::clients(fixture, Peer::H2load);
    let method = format!(
        "A closed loop of one client thread over HTTP/2 without TLS. {} At least 1.5 is wanted \
         with several streams, 1.2 with one. With one stream nginx 1.22 holds a response back for \
         the delayed ACK of its head, so that load is on other servers. {LIMIT} \
         {}",
        fixture.method(fixture.options.seconds, "weir has no warm-up here"),
        versions(&[Peer::H2load])?
    );
    let mut section = Section::new("HTTP/2", QUESTION, method);
    let mut tables = vec![matrix::compare(fixture, &nginx, &STREAMS, Peer::H2load, &clients)?];
    for server in [fixture.h2o()?, fixture.weir_serve()?] {
        tables.push(matrix::compare(fixture, &server, &SINGLE, Peer::H2load, &clients)?);
    }
    let (table, failures, worst) = at_a_rate(fixture, &nginx)?;
    section.fail(failures);
    section.verdict(format!(
        "At a constant rate it is at most {worst:.3} % off the plan (limit: {DEVIATION_MAX})."
    ));
    let wanted = "1.5 with several streams, 1.2 with one";
    matrix::add_all(&mut section, tables, Peer::H2load, &clients, wanted);
    let above = format!(
        "At a constant rate of 10,000/s on nginx; requests sent in the window may be off the plan \
         by {DEVIATION_MAX} %."
    );
    section.table(&above, table);
    Ok(section)
}

/// Returns the table of the loads at a constant rate, the failures, and the largest deviation from
/// the rate in percent.
fn at_a_rate(fixture: &Fixture, server: &Server) -> Result<(Table, Vec<String>, f64)> {
    let heads =
        ["connections × streams", "sent/s", "off the plan", "never sent", "errors", "client CPU"];
    let (mut table, mut failures, mut worst) = (Table::new(&heads), Vec::new(), 0.0_f64);
    let duration = format!("-d{}s", fixture.options.span(6, 2));
    for (connections, streams) in OPEN {
        let options = ["-t1", connections, "--streams", streams, "-R10k", &duration];
        let words = options.join(" ");
        eprintln!("bench: http2, {}: {words}", server.name);
        let (run, document) =
            clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)?;
        let sent_rps = document.throughput.sent_rps;
        let deviation = (sent_rps / 10_000.0 - 1.0) * 100.0;
        worst = worst.max(deviation.abs());
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
    Ok((table, failures, worst))
}
