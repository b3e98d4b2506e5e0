//! Values of flags: text to numbers, or an error message.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::builder::{PathBufValueParser, TypedValueParser};
use weir_result::Part;
use weir_result::Warmup;
use weir_runner::limits::{self, NumberLimit};
use weir_text::units::{parse_bytes, parse_count, parse_duration_ns, parse_number};
use weir_verdict::AbortCondition;

use crate::output::Output;

/// Returns a value that a specification may have.
fn within(limit: NumberLimit, value: u64) -> Result<u64> {
    limit.check(value).map(|()| value).map_err(anyhow::Error::msg)
}

/// Parses the limit of a decoded body.
pub(super) fn decoded_body(text: &str) -> Result<u64> {
    within(limits::DECODED_BODY, parse_bytes(text)?)
}

pub(super) fn positive_long(text: &str) -> Result<u64> {
    within(limits::COUNT, parse_count(text)?)
}

pub(super) fn positive(text: &str) -> Result<u32> {
    u32::try_from(positive_long(text)?).ok().context("is too large")
}

/// Parses a number of threads.
pub(super) fn threads(text: &str) -> Result<u32> {
    u32::try_from(within(limits::THREADS, parse_count(text)?)?).context("is too large")
}

/// Parses a number of requests in flight on one connection.
pub(super) fn depth(text: &str) -> Result<u16> {
    u16::try_from(within(limits::DEPTH, parse_count(text)?)?).context("is too large")
}

/// Parses a greatest number of redirects.
pub(super) fn redirects(text: &str) -> Result<u8> {
    u8::try_from(parse_count(text)?).context("is too large: at most 255")
}

/// Checks a condition that ends a load.
pub(crate) fn condition(text: &str) -> Result<String> {
    let condition: AbortCondition = text.parse()?;
    Ok(condition.to_string())
}

/// Maximum length of `--warmup auto` without a value of its own.
const AUTO_WARMUP: &str = "1m";

pub(super) fn warmup(text: &str) -> Result<Warmup> {
    let auto = match text.strip_prefix("auto") {
        Some("") => Some(AUTO_WARMUP),
        Some(rest) => rest.strip_prefix(':'),
        None => None,
    };
    Ok(match auto {
        Some(longest) => Warmup { span_ns: positive_duration(longest)?, is_auto: true },
        None => Warmup { span_ns: parse_duration_ns(text)?, is_auto: false },
    })
}

pub(super) fn positive_duration(text: &str) -> Result<u64> {
    within(limits::SPAN, parse_duration_ns(text)?)
}

/// Parses and resolves the value of `--listen`: `ADDRESS:PORT`, or a port alone on the loopback
/// address.
///
/// # Errors
/// When it is no such address.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(([127, 0, 0, 1], port).into());
    }
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.with_context(|| {
        format!("invalid --listen {text:?}; use ADDRESS:PORT, such as 127.0.0.1:8080")
    })
}

/// Parses a flow-control window.
pub(super) fn window(text: &str) -> Result<u32> {
    u32::try_from(within(limits::WINDOW, parse_bytes(text)?)?).context("is too large")
}

/// Parses the size of a table of header compression.
pub(super) fn table(text: &str) -> Result<u32> {
    u32::try_from(within(limits::TABLE, parse_bytes(text)?)?).context("is too large")
}

/// Parses a confidence in percent, with or without the sign, to a share of 1.
pub(super) fn confidence(text: &str) -> Result<f64> {
    let percent = parse_number(text.trim().strip_suffix('%').unwrap_or(text))?;
    ensure!((50.0..=99.99).contains(&percent), "must be a percentage between 50 and 99.99");
    Ok(percent / 100.0)
}

/// Parses `2/3`: part 2 of 3.
pub(super) fn part(text: &str) -> Result<Part> {
    let (index, count) = text.split_once('/').context("must be K/N, such as 2/3: part 2 of 3")?;
    let index = positive(index)?;
    let count = positive(count)?;
    let part = Part::new(index, count);
    part.with_context(|| format!("must lie between 1/{count} and {count}/{count}"))
}

/// Parses seconds since 1970 to nanoseconds.
pub(super) fn unix_time(text: &str) -> Result<u64> {
    let seconds = parse_number(text)?;
    // Times of this century, so that milliseconds given by mistake are found.
    let is_time = (9e8..5e9).contains(&seconds);
    ensure!(is_time, "must be in seconds since 1970, as `date +%s` prints them");
    Ok((seconds * 1e9) as u64)
}

/// Returns the parser of the values of `--output`. A file's name need not be UTF-8.
pub(super) fn output(
    of_path: fn(PathBuf) -> Result<Output, String>,
) -> impl TypedValueParser<Value = Output> {
    PathBufValueParser::new().try_map(of_path)
}
