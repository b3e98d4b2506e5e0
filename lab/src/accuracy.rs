//! `cargo xtask accuracy`: compares weir's figures with known values on this machine, and writes
//! the results (METHOD 2).
//!
//! Each case is a function that measures against a server with known behaviour, from theory or from
//! its own log, and returns a section. Each measured case replaces its file in
//! `docs/measured/`, and docs/ACCURACY.md is rendered anew; with `--print`, neither. A run fails if
//! a case is not as expected, after printing all sections.

mod curve;
mod distribution;
mod peers;
mod plan;
mod rows;
mod theory;

mod attribution;
mod blame;
mod bounds;
mod capture;
mod causality;
mod closed;
mod concordance;
mod conversations;
mod delivery;
mod departures;
mod everyday;
mod faults;
mod fleet;
mod foreign;
mod interop;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod link;
mod nats_versions;
mod occupancy;
mod overload;
mod queues;
mod search;
mod shapes;
mod slots;
mod stages;
mod stall;
mod stops;
mod trouble;

use anyhow::{Context, Result, ensure};

use crate::rig::{Case, CaseTransport};

/// All cases, in the order of measuring.
pub(crate) const CASES: &[Case] = &[
    Case::new("V2", delivery::delivery),
    Case::new("V3", queues::laws),
    Case::new("V4", causality::causality),
    Case::new("V5", stall::open_loop),
    Case::new("V6", closed::stall),
    Case::new("V7", stall::half_the_time),
    Case::new("V8", overload::overload),
    Case::new("V9", queues::queues),
    Case::new("V10", faults::black_hole),
    Case::new("V11", stall::at_the_end),
    Case::new("V12", faults::resets),
    Case::new("V13", blame::blame),
    Case::new("V14", departures::departures),
    Case::new("V15", slots::slots),
    Case::new("V16", causality::report),
    Case::new("V17", occupancy::occupancy),
    Case::new("V18", capture::capture),
    Case::new("V26", concordance::concordance),
    Case::new("V27", bounds::bounds),
    Case::new("V28", attribution::attribution),
    Case::new("V29", everyday::everyday_commands),
    Case::new("V30", foreign::servers_of_others),
    Case::new("V31", stops::stops),
    Case::new("V32", search::search),
    Case::new("V33", stages::beside_single_runs),
    Case::new("V34", stages::knees),
    Case::new("V35", shapes::ramp),
    Case::new("V36", shapes::connections),
    Case::new("V37", fleet::fleet),
    Case::new("V38", trouble::trouble),
    Case::new("V39", nats_versions::nats_versions),
    #[cfg(feature = "kubernetes")]
    Case::new("V40", kubernetes::kubernetes),
    Case::new("V41", interop::sse),
    Case::new("V41-grpcio", interop::grpcio),
    Case::new("V41-grpc-go", interop::grpc_go),
    Case::new("V41-websockets", interop::websockets),
    Case::new("V41-ws", interop::ws),
    Case::new("V42", interop::model::model),
    Case::new("V44", conversations::conversations),
    Case::new("V2", delivery::delivery).over("V2-tls", CaseTransport::Tls),
    Case::new("V2", delivery::delivery).over("V2-http2", CaseTransport::Http2 { streams: 10 }),
    Case::new("V5", stall::open_loop).over("V5-tls", CaseTransport::Tls),
    Case::new("V5", stall::open_loop).over("V5-http2", CaseTransport::Http2 { streams: 100 }),
    Case::new("V10", faults::black_hole).over("V10-tls", CaseTransport::Tls),
    Case::new("V10", faults::black_hole).over("V10-http2", CaseTransport::Http2 { streams: 10 }),
    Case::new("V11", stall::at_the_end).over("V11-tls", CaseTransport::Tls),
    Case::new("V11", stall::at_the_end).over("V11-http2", CaseTransport::Http2 { streams: 10 }),
    Case::new("V12", faults::resets).over("V12-tls", CaseTransport::Tls),
    Case::new("V12", faults::resets).over("V12-http2", CaseTransport::Http2 { streams: 1 }),
    Case::new("V15", slots::slots).over("V15-tls", CaseTransport::Tls),
    Case::new("V15", slots::slots).over("V15-http2", CaseTransport::Http2 { streams: 1 }),
];

/// Cases of `cargo xtask interop` by the names of their servers.
const INTEROP: [(&str, &str); 7] = [
    ("sse", "V41"),
    ("grpcio", "V41-grpcio"),
    ("grpc-go", "V41-grpc-go"),
    ("websockets", "V41-websockets"),
    ("ws", "V41-ws"),
    ("model", "V42"),
    ("conversations", "V44"),
];

/// Returns the options of `accuracy` for those of `interop`, which name servers.
pub(crate) fn interop_options(options: &[&str]) -> Result<Vec<String>> {
    let id = |name: &str| {
        let known = INTEROP.iter().find(|(server, _)| *server == name);
        let names = || INTEROP.map(|(server, _)| server).join(", ");
        known.map(|(_, id)| *id).with_context(|| format!("no server {name}; there are {}", names()))
    };
    let mut options = options.to_vec();
    let mut only = None;
    if let Some(at) = options.iter().position(|option| *option == "--only") {
        ensure!(at + 1 < options.len(), "no servers named; use --only NAME,NAME");
        only = options.drain(at..at + 2).next_back();
    }
    let names = only
        .map_or_else(|| INTEROP.map(|(name, _)| name).to_vec(), |only| only.split(',').collect());
    let ids: Result<Vec<&str>> = names.into_iter().map(id).collect();
    let words = options.into_iter().map(str::to_owned);
    Ok(words.chain(["--only".to_owned(), ids?.join(",")]).collect())
}

#[cfg(test)]
mod tests {
    use xtask::measured::ACCURACY;

    use super::*;

    #[test]
    fn servers_have_cases() {
        let options = interop_options(&["--print", "--only", "model,sse"]).expect("both are known");
        assert_eq!(options, ["--print", "--only", "V42,V41"]);
        assert_eq!(interop_options(&[]).expect("all").len(), 2);
        assert!(
            interop_options(&["--only"]).is_err() && interop_options(&["--only", "x"]).is_err()
        );
        assert!(INTEROP.iter().all(|(_, id)| CASES.iter().any(|case| case.id == *id)));
    }

    #[test]
    fn the_page_has_all_cases() {
        let mut cases: Vec<&str> = CASES.iter().map(|case| case.id).collect();
        let mut entries: Vec<&str> = ACCURACY.entries().collect();
        cases.sort_unstable();
        entries.sort_unstable();
        assert_eq!(cases, entries);
    }
}
