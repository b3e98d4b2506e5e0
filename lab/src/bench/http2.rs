//! weir against h2load over HTTP/2 in the clear, and weir's punctuality with many streams.

use anyhow::Result;
use xtask::shell::need_program;

use super::load::ClosedLoad;
use super::matrix::{self, LIMIT};
use super::paired;
use crate::rig::{Fixture, Peer, Section, Server, Table, Transport, clients, table, versions};

const STREAMS: [ClosedLoad; 6] = [
    ClosedLoad::of(1).streams(10),
    ClosedLoad::of(10).streams(10),
    ClosedLoad::of(100).streams(10),
    ClosedLoad::of(1).streams(100),
    ClosedLoad::of(10).streams(100),
    ClosedLoad::of(100).streams(100),
];

/// One stream, for servers that send each response at once.
const SINGLE: [ClosedLoad; 3] =
    [ClosedLoad::of(1).streams(1), ClosedLoad::of(10).streams(1), ClosedLoad::of(100).streams(1)];

/// Connections and streams of the loads at a constant rate.
const OPEN: [(u32, u32); 2] = [(10_000, 1), (100, 100)];

/// Largest deviation from the rate, in percent.
const DEVIATION_MAX: f64 = 0.1;

const QUESTION: &str = "What does a request over HTTP/2 cost beside h2load's?";

pub(super) fn http2(fixture: &Fixture) -> Result<Section> {
    let nginx = fixture.nginx_over(Transport::Http2)?;
    let clients = matrix::clients(fixture, Peer::H2load)?;
    let method = format!(
        "A closed loop of one client thread over HTTP/2 without TLS. {} At least 1.5 is wanted \
         with several streams, 1.2 with one. With one stream nginx 1.22 holds a response back for \
         the delayed ACK of its head, so that load is on other servers. {LIMIT} \
         {}",
        paired::method(fixture),
        versions(&[Peer::H2load])?
    );
    let mut section = Section::new("HTTP/2", QUESTION, method);
    let h2o = Server::h2o(&need_program("h2o", "bench")?, fixture.placement.server)?;
    let weir_serve = fixture.weir_serve()?;
    let (table, worst) = at_a_rate(fixture, &nginx, &mut section)?;
    section.verdict(format!(
        "At a constant rate it is at most {worst:.3} % off the plan (limit: {DEVIATION_MAX})."
    ));
    let wanted = "1.5 with several streams, 1.2 with one";
    let all = [(&nginx, &STREAMS[..]), (&h2o, &SINGLE), (&weir_serve, &SINGLE)];
    matrix::compare_all(fixture, &mut section, &all, Peer::H2load, &clients, wanted)?;
    let above = format!(
        "At a constant rate of 10,000/s on nginx; requests sent in the window may be off the plan \
         by {DEVIATION_MAX} %."
    );
    section.table(&above, table);
    Ok(section)
}

/// Returns the table of the loads at a constant rate, and the largest deviation from the rate in
/// percent.
fn at_a_rate(fixture: &Fixture, server: &Server, section: &mut Section) -> Result<(Table, f64)> {
    let mut table = Table::default();
    let mut worst = 0.0_f64;
    for (connections, streams) in OPEN {
        let seconds = fixture.span(6, 2);
        let flags = format!("-t1 -c{connections} --streams {streams} -R10k -d{seconds}s");
        let (run, document) = fixture.timed_weir(&flags, &server.url)?;
        let sent_rps = document.throughput.sent_rps;
        let deviation = (sent_rps / 10_000.0 - 1.0) * 100.0;
        worst = worst.max(deviation.abs());
        let errors = clients::failures(&document);
        table.add(&[
            ("connections × streams", &format!("{connections} × {streams}")),
            ("sent/s", &table::rate(sent_rps)),
            ("off the plan", &format!("{deviation:+.3} %")),
            ("never sent", &table::thousands(document.results.outcomes.never_sent)),
            ("errors", &table::thousands(errors)),
            ("client CPU", &run.cpu()),
        ]);
        section.must(deviation.abs() <= DEVIATION_MAX && errors == 0, || {
            format!("{flags}: {deviation:+.3} % off the plan, {errors} errors")
        });
    }
    Ok((table, worst))
}
