//! The values of `--metric`.

use std::str::FromStr;

use weir_verdict::{AssertionError, NamedMetric};

/// Metrics of one `--metric`, between commas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricList(Vec<NamedMetric>);

impl FromStr for MetricList {
    type Err = AssertionError;

    /// Parses `p99,rate`. A comma within a name separates nothing: `GET /a,b: p99,rate`.
    fn from_str(text: &str) -> Result<MetricList, AssertionError> {
        let mut metrics = Vec::new();
        let mut rest = text;
        loop {
            let (metric, end) = first(rest)?;
            metrics.push(metric);
            match rest.get(end + 1..) {
                Some(after) => rest = after,
                None => return Ok(MetricList(metrics)),
            }
        }
    }
}

impl MetricList {
    /// Returns the metrics of all flags.
    pub(crate) fn all(lists: &[MetricList]) -> Vec<NamedMetric> {
        lists.iter().flat_map(|list| &list.0).cloned().collect()
    }

    /// Returns the names of the metrics of all flags.
    pub(crate) fn names(lists: &[MetricList]) -> Vec<String> {
        MetricList::all(lists).iter().map(NamedMetric::to_string).collect()
    }
}

/// Returns the metric that the text begins with, and its end: the first comma at which it is one,
/// or the end of the text.
fn first(text: &str) -> Result<(NamedMetric, usize), AssertionError> {
    let ends = text.match_indices(',').map(|(at, _)| at).chain([text.len()]);
    let mut error = None;
    for end in ends {
        match text[..end].parse() {
            Ok(metric) => return Ok((metric, end)),
            // The shortest text is the likeliest one.
            Err(why) => error = error.or(Some(why)),
        }
    }
    Err(error.expect("a text has an end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_between_commas() {
        for (text, expected) in [
            ("p99", &["p99"][..]),
            ("p99,rate, errors", &["p99", "rate", "errors"]),
            ("checkout: p99,rate", &["checkout: p99", "rate"]),
            ("rate,GET /a,b: p99,GET /c: rate", &["rate", "GET /a,b: p99", "GET /c: rate"]),
        ] {
            let list: MetricList = text.parse().expect(text);
            assert_eq!(MetricList::names(&[list]), expected, "{text}");
        }
        for (text, part) in [("p98,rate", "'p98'"), ("rate,", "names no metric"), ("", "no metric")]
        {
            let error = text.parse::<MetricList>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
