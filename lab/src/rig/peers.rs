//! Load generators: their names, places and versions. This module runs none of them.

use std::path::PathBuf;

use anyhow::Result;
use xtask::shell::{find_program, find_tool, target_dir};

use super::machine;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Weir,
    Wrk,
    Wrk2,
    Ab,
    H2load,
    Hey,
    Oha,
    Bombardier,
    Vegeta,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Weir => "weir",
            Peer::Wrk => "wrk",
            Peer::Wrk2 => "wrk2",
            Peer::Ab => "ab",
            Peer::H2load => "h2load",
            Peer::Hey => "hey",
            Peer::Oha => "oha",
            Peer::Bombardier => "bombardier",
            Peer::Vegeta => "vegeta",
        }
    }

    /// Returns the program's path, unless it is absent.
    pub(crate) fn find(self) -> Option<PathBuf> {
        if self == Peer::Weir {
            return Some(target_dir().ok()?.join("release").join("weir"));
        }
        find_program(self.name()).or_else(|| find_tool(self.name()))
    }

    /// Returns the program's version line, or that it is absent.
    pub(crate) fn version(self) -> Result<String> {
        let flag = match self {
            Peer::Wrk => "-v",
            Peer::Ab => "-V",
            // hey prints no version, but an error message.
            Peer::Hey => return Ok(self.find().map_or("absent", |_| "hey").to_owned()),
            Peer::Vegeta => "-version",
            _ => "--version",
        };
        self.find().map_or(Ok("absent".to_owned()), |program| machine::version(&program, flag))
    }
}

/// Returns the versions of the programs that a section measured, and the absent ones, in a sentence
/// or two.
pub(crate) fn versions(peers: &[Peer]) -> Result<String> {
    let (present, absent): (Vec<Peer>, Vec<Peer>) =
        peers.iter().partition(|peer| peer.find().is_some());
    let versions: Result<Vec<String>> = present.into_iter().map(Peer::version).collect();
    let mut text = format!("Programs: {}.", versions?.join(", "));
    if !absent.is_empty() {
        let absent: Vec<&str> = absent.into_iter().map(Peer::name).collect();
        text.push_str(&format!(" Not installed, so not measured: {}.", absent.join(", ")));
    }
    Ok(text)
}
