//! Reports in the layout of wrk and wrk2, parsed in the three ways of common programs: by a strict
//! grammar of lines, by columns between blanks, and by searching for words. All three must agree.

use std::collections::BTreeMap;

/// All fields of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// The kinds of its lines, in order.
    pub(crate) lines: Vec<&'static str>,
    /// Duration as printed: `1s`.
    pub(crate) duration: String,
    pub(crate) url: String,
    pub(crate) threads: u64,
    pub(crate) connections: u64,
    /// Mean latencies of wrk2's lines on calibration, in microseconds.
    pub(crate) calibrations: Vec<f64>,
    /// Latency, in microseconds.
    pub(crate) latency: Row,
    /// Rate of a thread, in 1/s.
    pub(crate) rates: Row,
    /// Percentages, each with its latency in microseconds.
    pub(crate) percentiles: Vec<(f64, f64)>,
    /// The blocks of wrk2: recorded, then uncorrected latency.
    pub(crate) spectra: Vec<Spectrum>,
    pub(crate) requests: u64,
    pub(crate) run_time_us: f64,
    pub(crate) bytes: f64,
    pub(crate) socket_errors: Option<SocketErrors>,
    pub(crate) bad_status: Option<u64>,
    pub(crate) requests_per_second: f64,
    pub(crate) bytes_per_second: f64,
    /// Output of a script after the report.
    pub(crate) rest: String,
}

/// A line of `Thread Stats`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) mean: f64,
    pub(crate) stdev: f64,
    pub(crate) max: f64,
    /// In percent; `-nan` is no number.
    pub(crate) within: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketErrors {
    pub(crate) connect: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) timeout: u64,
}

/// The text of an HdrHistogram: rows of value in milliseconds, percentile, count, and 1/(1 − p).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spectrum {
    pub(crate) title: String,
    pub(crate) percentiles: Vec<(f64, f64)>,
    pub(crate) rows: Vec<[f64; 4]>,
    /// Mean, deviation, maximum, count, buckets and sub-buckets.
    pub(crate) footer: [f64; 6],
}

/// Units, each with its factor to the base unit.
type Units = &'static [(&'static str, f64)];

const TIMES: Units = &[("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6)];
const COUNTS: Units = &[("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("", 1.0)];
const BYTES: Units = &[
    ("KB", 1024.0),
    ("MB", 1024.0 * 1024.0),
    ("GB", 1024.0 * 1024.0 * 1024.0),
    ("TB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("B", 1.0),
];

impl Report {
    /// Reads a report; the three ways must agree.
    #[track_caller]
    pub(crate) fn read(text: &str) -> Report {
        let report = Grammar::new(text).report().unwrap_or_else(|problem| {
            panic!("{problem}\n{text}");
        });
        assert_eq!(columns(text), report.figures(), "by columns\n{text}");
        assert_eq!(searches(text), report.figures(), "by searches\n{text}");
        report
    }

    /// The figures that the loose ways find, by the words before them.
    fn figures(&self) -> BTreeMap<&'static str, f64> {
        let mut figures = BTreeMap::from([
            ("Latency", self.latency.mean),
            ("Latency stdev", self.latency.stdev),
            ("Latency max", self.latency.max),
            ("Req/Sec", self.rates.mean),
            ("requests in", self.requests as f64),
            ("Requests/sec:", self.requests_per_second),
            ("Transfer/sec:", self.bytes_per_second),
        ]);
        if let Some(errors) = self.socket_errors {
            let SocketErrors { connect, read, write, timeout } = errors;
            figures.insert("Socket errors:", (connect + read + write + timeout) as f64);
        }
        if let Some(count) = self.bad_status {
            figures.insert("Non-2xx", count as f64);
        }
        // `-nan` does not equal itself.
        figures.retain(|_, value| !value.is_nan());
        figures
    }

    /// Checks the properties of every report whose figures are right.
    #[track_caller]
    pub(crate) fn assert_consistent(&self) {
        let Report { latency, rates, .. } = self;
        for row in [latency, rates] {
            assert!(row.mean.is_nan() || row.mean <= row.max * 1.01 + 0.01, "{self:#?}");
            assert!(row.within.is_nan() || (0.0..=100.0).contains(&row.within), "{self:#?}");
        }
        let spectra = self.spectra.iter().map(|spectrum| &spectrum.percentiles);
        for percentiles in spectra.chain([&self.percentiles]) {
            for pair in percentiles.windows(2) {
                assert!(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1, "{self:#?}");
            }
        }
        for (percent, value) in &self.percentiles {
            assert!(*value <= latency.max * 1.01 + 1.0, "{percent}%: {self:#?}");
        }
        // Printed with two decimals of its unit, a time of a second is exact to half a percent.
        let run_s = self.run_time_us / 1e6;
        let near = |rate: f64, total: f64, least: f64| {
            (rate * run_s - total).abs() <= total * 0.011 + least
        };
        assert!(near(self.requests_per_second, self.requests as f64, 0.02), "{self:#?}");
        assert!(near(self.bytes_per_second, self.bytes, 0.02), "{self:#?}");
        assert!(self.bad_status.is_none_or(|count| count <= self.requests), "{self:#?}");
    }
}

/// The strict way: every line is one of those known, in their order, with fields of their widths.
struct Grammar<'a> {
    rest: &'a str,
    kinds: Vec<&'static str>,
}

type Found<T> = Result<T, String>;

impl<'a> Grammar<'a> {
    fn new(text: &'a str) -> Grammar<'a> {
        Grammar { rest: text, kinds: Vec::new() }
    }

    fn report(mut self) -> Found<Report> {
        let first = self.line("running", "Running ")?;
        let (duration, url) = first.split_once(" test @ ").ok_or("no URL")?;
        let second = self.line("threads", "  ")?;
        let (threads, rest) = second.split_once(" threads and ").ok_or("no threads")?;
        let connections = rest.strip_suffix(" connections").ok_or("no connections")?;
        let mut calibrations = Vec::new();
        while let Some(line) = self.optional("calibration", "  Thread calibration: mean lat.: ") {
            let (mean, interval) =
                line.split_once("ms, rate sampling interval: ").ok_or("no interval")?;
            let _ms = whole(interval.strip_suffix("ms").ok_or("no unit of the interval")?)?;
            calibrations.push(decimal(mean, 3)? * 1e3);
        }
        let heads = "  Thread Stats   Avg      Stdev     Max   +/- Stdev";
        empty(self.line("heads", heads)?)?;
        let latency = row(self.line("Latency", "    Latency   ")?, TIMES)?;
        let rates = row(self.line("Req/Sec", "    Req/Sec   ")?, COUNTS)?;
        let mut percentiles = Vec::new();
        let mut spectra = Vec::new();
        while let Some(title) = self.optional("Latency Distribution", "  Latency Distribution") {
            if title.is_empty() {
                percentiles = self.percentiles(4, 0)?;
                continue;
            }
            spectra.push(self.spectrum(title)?);
            if self.rest.starts_with("\n  Latency Distribution") {
                empty(self.line("empty", "")?)?;
            }
        }
        let totals = self.line("totals", "  ")?;
        let (requests, totals) = totals.split_once(" requests in ").ok_or("no requests")?;
        let (run_time, bytes) = totals.split_once(", ").ok_or("no run time")?;
        let bytes = bytes.strip_suffix(" read").ok_or("no bytes")?;
        let socket_errors = self.optional("Socket errors", "  Socket errors: ");
        let bad_status = self.optional("Non-2xx", "  Non-2xx or 3xx responses: ");
        let per_second = self.line("Requests/sec", "Requests/sec: ")?;
        let transfer = self.line("Transfer/sec", "Transfer/sec: ")?;
        at_least(per_second, 9)?;
        at_least(transfer, 11)?;
        Ok(Report {
            duration: duration.to_owned(),
            url: url.to_owned(),
            threads: whole(threads)?,
            connections: whole(connections)?,
            calibrations,
            latency,
            rates,
            percentiles,
            spectra,
            requests: whole(requests)?,
            run_time_us: quantity(run_time, TIMES)?,
            bytes: quantity(bytes, BYTES)?,
            socket_errors: socket_errors.map(errors).transpose()?,
            bad_status: bad_status.map(whole).transpose()?,
            requests_per_second: decimal(per_second.trim_start(), 2)?,
            bytes_per_second: quantity(transfer.trim_start(), BYTES)?,
            lines: self.kinds,
            rest: self.rest.to_owned(),
        })
    }

    /// The rest of the next line, which must be of this kind and begin with `begin`.
    fn line(&mut self, kind: &'static str, begin: &str) -> Found<&'a str> {
        let next = self.rest.lines().next().unwrap_or_default();
        self.optional(kind, begin).ok_or_else(|| format!("{next:?} is no line of {kind:?}"))
    }

    fn optional(&mut self, kind: &'static str, begin: &str) -> Option<&'a str> {
        let (line, rest) = self.rest.split_once('\n')?;
        let content = line.strip_prefix(begin)?;
        self.rest = rest;
        self.kinds.push(kind);
        Some(content)
    }

    fn percentiles(&mut self, count: usize, decimals: usize) -> Found<Vec<(f64, f64)>> {
        let mut percentiles = Vec::new();
        for _ in 0..count {
            let line = self.line("percentile", "")?;
            let (percent, value) = line.split_once('%').ok_or("no percentage")?;
            exactly(percent, 7)?;
            exactly(value, 10)?;
            percentiles.push((decimal(percent.trim_start(), decimals)?, cell(value, TIMES)?));
        }
        Ok(percentiles)
    }

    fn spectrum(&mut self, title: &str) -> Found<Spectrum> {
        let title = title.strip_prefix(" (HdrHistogram - ").and_then(|rest| rest.strip_suffix(')'));
        let title = title.ok_or("no title")?.to_owned();
        let percentiles = self.percentiles(8, 3)?;
        empty(self.line("empty", "")?)?;
        empty(self.line("spectrum", "  Detailed Percentile spectrum:")?)?;
        let heads = "       Value   Percentile   TotalCount 1/(1-Percentile)";
        empty(self.line("spectrum heads", heads)?)?;
        empty(self.line("empty", "")?)?;
        let mut rows = Vec::new();
        while !self.rest.starts_with("#[") {
            let line = self.line("spectrum row", "")?;
            at_least(line, 51)?;
            let words: Vec<&str> = line.split_whitespace().collect();
            let [value, percentile, count, inverse] = words[..] else {
                return Err(format!("{line:?} has not four columns"));
            };
            let inverse = if inverse == "inf" { f64::INFINITY } else { decimal(inverse, 2)? };
            let count = whole(count)? as f64;
            rows.push([decimal(value, 3)?, decimal(percentile, 6)?, count, inverse]);
        }
        let [mean, stdev] = self.footer("#[Mean    = ", ", StdDeviation   = ")?;
        let [max, count] = self.footer("#[Max     = ", ", Total count    = ")?;
        let [buckets, parts] = self.footer("#[Buckets = ", ", SubBuckets     = ")?;
        empty(self.line("dashes", &"-".repeat(58))?)?;
        let footer = [mean, stdev, max, count, buckets, parts];
        Ok(Spectrum { title, percentiles, rows, footer })
    }

    fn footer(&mut self, first: &str, second: &str) -> Found<[f64; 2]> {
        let line = self.line("spectrum footer", first)?;
        let line = line.strip_suffix(']').ok_or("a footer is not closed")?;
        let (one, two) = line.split_once(second).ok_or_else(|| format!("{line:?}: {second:?}"))?;
        at_least(one, 12)?;
        at_least(two, 12)?;
        Ok([number(one.trim_start())?, number(two.trim_start())?])
    }
}

fn row(line: &str, units: Units) -> Found<Row> {
    exactly(line, 8 + 10 + 9 + 9)?;
    let within = line[27..].strip_suffix('%').ok_or("no percentage")?.trim_start();
    let within = if within == "-nan" { f64::NAN } else { decimal(within, 2)? };
    let [mean, stdev, max] = [&line[..8], &line[8..18], &line[18..27]].map(|it| cell(it, units));
    Ok(Row { mean: mean?, stdev: stdev?, max: max?, within })
}

/// Parses a field of fixed width: blanks after the number replace the letters that its unit lacks
/// of two.
fn cell(cell: &str, units: Units) -> Found<f64> {
    let text = cell.trim_end();
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    if !text.ends_with("-nan") && cell.len() - text.len() != 2 - letters {
        return Err(format!("{cell:?} is not aligned"));
    }
    quantity(text.trim_start(), units)
}

/// Parses a number with two decimals and one of the units.
fn quantity(text: &str, units: Units) -> Found<f64> {
    if text.starts_with("-nan") {
        return Ok(f64::NAN);
    }
    let found = units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        Some(decimal(digits, 2).ok()? * factor)
    });
    found.ok_or_else(|| format!("{text:?} is no number with a unit"))
}

fn errors(text: &str) -> Found<SocketErrors> {
    let mut counts = [0; 4];
    let names = ["connect", "read", "write", "timeout"];
    let parts: Vec<&str> = text.split(", ").collect();
    if parts.len() != names.len() {
        return Err(format!("{text:?} are not four errors"));
    }
    for ((count, name), part) in counts.iter_mut().zip(names).zip(parts) {
        let digits = part.strip_prefix(name).and_then(|part| part.strip_prefix(' '));
        *count = whole(digits.ok_or_else(|| format!("{part:?} is no {name:?}"))?)?;
    }
    let [connect, read, write, timeout] = counts;
    Ok(SocketErrors { connect, read, write, timeout })
}

fn whole(text: &str) -> Found<u64> {
    text.parse().map_err(|_| format!("{text:?} is no whole number"))
}

fn decimal(text: &str, decimals: usize) -> Found<f64> {
    let count = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if count != decimals {
        return Err(format!("{text:?} has not {decimals} decimals"));
    }
    number(text)
}

fn number(text: &str) -> Found<f64> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn empty(rest: &str) -> Found<()> {
    if rest.is_empty() { Ok(()) } else { Err(format!("{rest:?} is too much")) }
}

fn exactly(text: &str, width: usize) -> Found<()> {
    let is_so = text.len() == width;
    if is_so { Ok(()) } else { Err(format!("{text:?} is not {width} wide")) }
}

fn at_least(text: &str, width: usize) -> Found<()> {
    let is_so = text.len() >= width;
    if is_so { Ok(()) } else { Err(format!("{text:?} is not {width} wide")) }
}

/// The loose way of shells and awk: the words of a line by their number.
fn columns(text: &str) -> BTreeMap<&'static str, f64> {
    let mut figures = BTreeMap::new();
    let mut put = |name, value: Found<f64>| figures.insert(name, value.expect(name));
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Latency", mean, stdev, max, _within] => {
                put("Latency", quantity(mean, TIMES));
                put("Latency stdev", quantity(stdev, TIMES));
                put("Latency max", quantity(max, TIMES));
            }
            ["Req/Sec", mean, ..] => _ = put("Req/Sec", quantity(mean, COUNTS)),
            [count, "requests", "in", ..] => _ = put("requests in", number(count)),
            ["Requests/sec:", rate] => _ = put("Requests/sec:", quantity(rate, COUNTS)),
            ["Transfer/sec:", rate] => _ = put("Transfer/sec:", quantity(rate, BYTES)),
            ["Non-2xx", "or", "3xx", "responses:", count] => _ = put("Non-2xx", number(count)),
            ["Socket", "errors:", ..] => {
                let counts = [3, 5, 7, 9].map(|at| number(words[at].trim_end_matches(',')));
                put("Socket errors:", counts.into_iter().sum());
            }
            _ => {}
        }
    }
    figures.retain(|_, value| !value.is_nan());
    figures
}

/// The loose way of regular expressions: a word, then what follows it.
fn searches(text: &str) -> BTreeMap<&'static str, f64> {
    let words_behind = |word: &str| -> Option<Vec<&str>> {
        let at = text.find(word)? + word.len();
        Some(text[at..].split(|c: char| c.is_whitespace() || c == ',').collect())
    };
    let nth = |word: &str, nth: usize, units| {
        let words = words_behind(word)?;
        let found = words.into_iter().filter(|word| !word.is_empty()).nth(nth)?;
        Some(quantity(found, units).expect(word))
    };
    let count = |word: &str, nth: usize| -> Option<f64> {
        let words = words_behind(word)?;
        let found = words.into_iter().filter(|word| !word.is_empty()).nth(nth)?;
        Some(number(found).expect(word))
    };
    let at = text.find(" requests in ").expect("there is a total");
    let requests = text[..at].split_whitespace().next_back().expect("a count before it");
    let mut figures = BTreeMap::from([("requests in", number(requests).expect("a count"))]);
    let errors = [1, 3, 5, 7].map(|at| count("Socket errors:", at));
    for (name, found) in [
        ("Latency", nth("Latency ", 0, TIMES)),
        ("Latency stdev", nth("Latency ", 1, TIMES)),
        ("Latency max", nth("Latency ", 2, TIMES)),
        ("Req/Sec", nth("Req/Sec", 0, COUNTS)),
        ("Requests/sec:", nth("Requests/sec:", 0, COUNTS)),
        ("Transfer/sec:", nth("Transfer/sec:", 0, BYTES)),
        ("Socket errors:", errors.into_iter().sum()),
        ("Non-2xx", count("Non-2xx or 3xx responses:", 0)),
    ] {
        if let Some(value) = found.filter(|value| !value.is_nan()) {
            figures.insert(name, value);
        }
    }
    figures
}
