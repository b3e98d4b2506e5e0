//! The arguments of `cargo bench -- `.

use std::str::FromStr;

use crate::side::SideKind;

/// The sides to compare, and their loads.
pub(crate) struct Options {
    pub(crate) connections: Vec<u32>,
    /// Requests in flight on each connection.
    pub(crate) depths: Vec<u16>,
    /// Length of the response bodies; `None` for the server's default.
    pub(crate) body_bytes: Option<u32>,
    /// Sides; the first is the reference of the ratios.
    pub(crate) sides: Vec<SideKind>,
    pub(crate) rounds: usize,
    pub(crate) turn_ms: u64,
}

impl Options {
    /// Parses arguments such as `connections=1,20`; those that cargo adds begin with a dash.
    pub(crate) fn parse(words: &[String]) -> Result<Options, String> {
        let mut options = Options {
            connections: vec![1, 20, 100, 1_000],
            depths: vec![1, 16],
            body_bytes: None,
            sides: vec![
                SideKind::Uring,
                SideKind::Epoll,
                SideKind::UringUnstamped,
                SideKind::UringNull,
                SideKind::EpollNull,
            ],
            rounds: 40,
            turn_ms: 12,
        };
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("what is `{word}`?"))?;
            match name {
                "connections" => options.connections = list(value)?,
                "depth" => options.depths = list(value)?,
                "body" => options.body_bytes = Some(one(value)?),
                "sides" => options.sides = list(value)?,
                "rounds" => options.rounds = one(value)?,
                "ms" => options.turn_ms = one(value)?,
                _ => return Err(format!("no option {name}")),
            }
        }
        Ok(options)
    }
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(one).collect()
}

fn one<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("failed to read `{text}`"))
}
