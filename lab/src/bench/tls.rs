//! weir against wrk over TLS: the client's cost of a request, of a handshake, and of a connection.

use anyhow::{Context, Result};

use super::load::ClosedLoad;
use super::matrix::{self, LIMIT};
use super::paired;
use crate::rig::{Fixture, Peer, Section, Transport, table};

const LOADS: [ClosedLoad; 3] =
    [ClosedLoad::of(20), ClosedLoad::of(100), ClosedLoad::of(50).closing()];

/// Numbers of connections between which the memory of one is measured.
const FEW: u32 = 100;
const MANY: u32 = 5_000;

/// Length of a run of these, which must be longer than that many handshakes on one CPU.
const MEMORY_RUN_S: u32 = 8;

const QUESTION: &str = "What does a request over TLS 1.3 cost? The last load is full handshakes.";

pub(super) fn tls(fixture: &Fixture) -> Result<Section> {
    let server = fixture.nginx_over(Transport::Tls)?;
    let clients = matrix::clients(fixture, Peer::Wrk)?;
    let method = format!(
        "A closed loop of one client thread over TLS 1.3. {} Neither program verifies the \
         certificate. With one request for each connection, every request has a full handshake: \
         the server has neither a session cache nor tickets. At least 1.2 is wanted with 100 \
         connections, 1 with 20, where 1.2 is near the limit (weir's own code has the encryption \
         in it), and 1 for handshakes. {LIMIT}",
        paired::method(fixture)
    );
    let mut section = Section::new("TLS 1.3", QUESTION, method).reported();
    let all = [(&server, &LOADS[..])];
    let wanted = "1.2 with 100 connections, else 1";
    matrix::compare_all(fixture, &mut section, &all, Peer::Wrk, &clients, wanted)?;
    let above = format!(
        "Memory of a connection: the difference in resident memory between {} and {} connections, \
         for each of them.",
        table::thousands(MANY.into()),
        table::thousands(FEW.into())
    );
    section.begin_table(&above);
    for client in clients {
        let resident = |connections| {
            let run = client.run(fixture, &server, &ClosedLoad::of(connections), MEMORY_RUN_S)?;
            run.cost.resident_bytes.context("the kernel does not tell the memory of processes")
        };
        let more = resident(MANY)?.saturating_sub(resident(FEW)?);
        let each_kib = more as f64 / f64::from(MANY - FEW) / 1_024.0;
        section
            .row(&[("client", &client.name()), ("KiB per connection", &format!("{each_kib:.1}"))]);
    }
    Ok(section)
}
