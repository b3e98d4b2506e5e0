//! Values of flags: text to numbers, or an error message.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::{PathBufValueParser, TypedValueParser};
use weir_result::{Part, Rate};
use weir_runner::Warmup;
use weir_text::units::{parse_bytes, parse_count, parse_duration_ns, parse_number};
use weir_verdict::Assertion;

use crate::output::Output;

pub(super) fn positive_long(text: &str) -> Result<u64, String> {
    match parse_count(text).map_err(|error| error.to_string())? {
        0 => Err("must be at least 1".to_owned()),
        count => Ok(count),
    }
}

pub(super) fn positive(text: &str) -> Result<u32, String> {
    u32::try_from(positive_long(text)?).map_err(|_| "is too large".to_owned())
}

/// Greatest number of threads. More is a duration: `-t 1m`, as of other tools.
const THREADS_MAX: u32 = 65_536;

/// Parses a number of threads.
pub(super) fn threads(text: &str) -> Result<u32, String> {
    match positive(text)? {
        threads @ 1..=THREADS_MAX => Ok(threads),
        _ => Err("must be at most 65,536".to_owned()),
    }
}

/// Parses a number of requests in flight on one connection.
pub(super) fn depth(text: &str) -> Result<u16, String> {
    match positive(text)? {
        depth @ 1..=128 => Ok(depth as u16),
        _ => Err("must lie between 1 and 128".to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

/// Maximum length of `--warmup auto` without a value of its own.
const AUTO_WARMUP: &str = "1m";

pub(super) fn warmup(text: &str) -> Result<Warmup, String> {
    let auto = match text.strip_prefix("auto") {
        Some("") => Some(AUTO_WARMUP),
        Some(rest) => rest.strip_prefix(':'),
        None => None,
    };
    match auto {
        Some(longest) => {
            positive_duration(longest).map(|span_ns| Warmup { span_ns, is_auto: true })
        }
        None => duration(text).map(|span_ns| Warmup { span_ns, is_auto: false }),
    }
}

pub(super) fn positive_duration(text: &str) -> Result<u64, String> {
    match duration(text)? {
        0 => Err("must be longer than 0".to_owned()),
        ns => Ok(ns),
    }
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| error.to_string())
}

/// Parses and resolves the value of `--listen`: `ADDRESS:PORT`, or a port alone on the loopback
/// address.
///
/// # Errors
/// When it is no such address.
pub(crate) fn listen_address(text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(([127, 0, 0, 1], port).into());
    }
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.with_context(|| {
        format!("invalid --listen {text:?}; use ADDRESS:PORT, such as 127.0.0.1:8080")
    })
}

/// Greatest flow-control window (RFC 9113 §6.9.1), in bytes.
const WINDOW_BYTES_MAX: u64 = (1 << 31) - 1;

/// Parses a flow-control window.
pub(super) fn window(text: &str) -> Result<u32, String> {
    match u32::try_from(bytes(text)?) {
        Ok(window @ 1..) if u64::from(window) <= WINDOW_BYTES_MAX => Ok(window),
        _ => Err("must lie between 1 and 2147483647".to_owned()),
    }
}

/// Greatest size of a table of header compression, in bytes.
const TABLE_BYTES_MAX: u64 = 1 << 20;

/// Parses the size of a table of header compression.
pub(super) fn table(text: &str) -> Result<u32, String> {
    match u32::try_from(bytes(text)?) {
        Ok(table) if u64::from(table) <= TABLE_BYTES_MAX => Ok(table),
        _ => Err("must be at most 1Mi".to_owned()),
    }
}

pub(super) fn assertion(text: &str) -> Result<Assertion, String> {
    text.parse().map_err(|error: weir_verdict::AssertionError| error.to_string())
}

/// Parses a confidence in percent, with or without the sign, to a share of 1.
pub(super) fn confidence(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text);
    match parse_number(number).map_err(|error| error.to_string())? {
        percent if (50.0..=99.99).contains(&percent) => Ok(percent / 100.0),
        _ => Err("must be a percentage between 50 and 99.99".to_owned()),
    }
}

/// Parses `2/3`: part 2 of 3.
pub(super) fn part(text: &str) -> Result<Part, String> {
    let numbers = text.split_once('/').ok_or("must be K/N, such as 2/3: part 2 of 3")?;
    let (index, count) = (positive(numbers.0)?, positive(numbers.1)?);
    Part::new(index, count).ok_or_else(|| format!("must lie between 1/{count} and {count}/{count}"))
}

/// Parses seconds since 1970 to nanoseconds.
pub(super) fn unix_time(text: &str) -> Result<u64, String> {
    match parse_number(text).map_err(|error| error.to_string())? {
        // Times of this century, so that milliseconds given by mistake are found.
        seconds if (9e8..5e9).contains(&seconds) => Ok((seconds * 1e9) as u64),
        _ => Err("must be in seconds since 1970, as `date +%s` prints them".to_owned()),
    }
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    text.parse::<Rate>().map_err(|error| error.to_string())
}

/// Returns the parser of the values of `--output`. A file's name need not be UTF-8.
pub(super) fn output(
    of_path: fn(PathBuf) -> Result<Output, String>,
) -> impl TypedValueParser<Value = Output> {
    PathBufValueParser::new().try_map(of_path)
}
