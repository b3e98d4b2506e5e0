//! weir against the other load generators, in every load that each of them supports.

use anyhow::Result;

use super::client::Client;
use super::load::ClosedLoad;
use super::matrix::{BODIES, CLOSE, DEPTH, PIPELINING};
use super::paired::{self, Paired};
use super::peers::OTHERS;
use crate::rig::{Fixture, Peer, Section, Table, table, versions};

const QUESTION: &str = "What does a request cost beside other programs'?";

pub(super) fn others(fixture: &Fixture) -> Result<Section> {
    let server = fixture.nginx()?;
    // Short rounds, because there are many sides.
    let seconds = fixture.options.seconds.div_ceil(2);
    let present: Vec<Peer> = OTHERS.into_iter().filter(|peer| peer.find().is_some()).collect();
    let mut heads = vec!["load".to_owned(), "weir µs".to_owned()];
    heads.extend(present.iter().map(|peer| format!("÷ {}'s", peer.name())));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let mut notes = Vec::new();
    let cases = [DEPTH, PIPELINING, BODIES, CLOSE];
    for load in cases.iter().flat_map(|case| case.loads) {
        // A program that fails in a first trial is left out, and a note says so.
        let mut clients = vec![Client::Weir(&[])];
        let mut cells = Vec::new();
        for peer in &present {
            let client = Client::Peer(*peer);
            let is_able = client.can(fixture, load)?;
            let trial = is_able.then(|| client.run(fixture, &server, load, seconds)).transpose();
            if let Err(error) = &trial {
                notes.push(format!("{}, {load}: {error:#}", peer.name()));
            }
            cells.push(match trial {
                Ok(Some(_)) => Some(clients.len()),
                _ => None,
            });
            if matches!(trial, Ok(Some(_))) {
                clients.push(client);
            }
        }
        let names: Vec<String> = clients.iter().map(|client| client.name()).collect();
        let run = |at: usize| clients[at].run(fixture, &server, load, seconds);
        let paired = Paired::run(&format!("others, {load}"), fixture.options.rounds, &names, run)?;
        let mut row = vec![load.to_string(), format!("{:.2}", paired.cost_us(0))];
        let ratio = |at: usize| table::estimate(&paired.efficiency_of_first(at));
        row.extend(cells.into_iter().map(|at| at.map_or("—".to_owned(), ratio)));
        table.row(&row);
    }
    let method = format!(
        "weir's requests per CPU-second over each program's, on nginx; weir's own µs of CPU per \
         request beside them. {} A dash: the program cannot do this load. {}",
        paired::method(fixture, seconds, "every program on the same one CPU"),
        versions(&OTHERS)?
    );
    let mut section = Section::new("against other programs", QUESTION, method).reported();
    notes.into_iter().for_each(|note| section.note(note));
    section.verdict("weir's requests per CPU-second divided by each program's:");
    let loads = [ClosedLoad::of(1), ClosedLoad::of(100)].map(|load| load.to_string());
    let ratios: Vec<&str> =
        heads.iter().map(String::as_str).filter(|head| *head != "weir µs").collect();
    section.show(table.filter("load", &loads.each_ref().map(String::as_str)).select(&ratios));
    section.table("", table);
    Ok(section)
}
