//! The text format of Prometheus metrics, as far as values of single metrics need it: names, labels
//! with escapes, types. Time stamps and exemplars are ignored.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use weir_text::setting::WATCH_METRIC;

/// A choice of metrics: a name, and labels that must have these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    pub(super) name: String,
    labels: BTreeMap<String, String>,
}

/// One line of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    /// Value; `None` if it is not finite.
    pub(super) value: Option<f64>,
}

impl Selector {
    /// Parses `name` or `name{label="value", …}`.
    ///
    /// # Errors
    /// When it has another form.
    pub(super) fn parse(text: &str) -> Result<Selector> {
        let text = text.trim();
        let series = series(text).filter(|(_, _, rest)| rest.is_empty());
        let form = "write NAME or NAME{LABEL=\"VALUE\"}";
        let (name, labels, _) =
            series.with_context(|| format!("{WATCH_METRIC} {text:?} is no metric: {form}"))?;
        ensure!(!name.is_empty(), "{WATCH_METRIC} {text:?} has no name: {form}");
        Ok(Selector { name, labels })
    }

    /// True if this is a choice of the sample.
    pub(super) fn matches(&self, sample: &Sample) -> bool {
        let has = |(name, value): (&String, &String)| sample.labels.get(name) == Some(value);
        self.name == sample.name && self.labels.iter().all(has)
    }
}

/// Returns the samples of a page. Malformed lines are skipped.
pub(super) fn samples(page: &str) -> impl Iterator<Item = Sample> {
    page.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, labels, rest) = series(line)?;
        let value = rest.split_whitespace().next()?.parse::<f64>().ok()?;
        Some(Sample { name, labels, value: Some(value).filter(|value| value.is_finite()) })
    })
}

/// Returns the type of a metric on a page: `untyped` if the page does not name it. Samples of
/// histograms, summaries and counters may have the name of their metric with a suffix.
pub(super) fn kind(page: &str, name: &str) -> &'static str {
    let mut types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let suffixes = ["", "_bucket", "_sum", "_count", "_total"];
    let found = types.find_map(|line| {
        let (known, kind) = line.split_once(' ')?;
        let rest = name.strip_prefix(known)?;
        suffixes.contains(&rest).then(|| kind.trim())
    });
    let kinds = ["counter", "gauge", "histogram", "summary"];
    kinds.into_iter().find(|kind| found == Some(kind)).unwrap_or("untyped")
}

/// Splits a line into the name, the labels, and the rest behind them.
fn series(line: &str) -> Option<(String, BTreeMap<String, String>, &str)> {
    let is_end = |c: char| c == '{' || c.is_whitespace();
    let (name, rest) = line.split_at(line.find(is_end).unwrap_or(line.len()));
    let rest = rest.trim_start();
    let Some(mut rest) = rest.strip_prefix('{') else {
        return Some((name.to_owned(), BTreeMap::new(), rest));
    };
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((name.to_owned(), labels, rest.trim_start()));
        }
        let (label, behind) = rest.split_once('=')?;
        let (value, behind) = quoted(behind.trim_start())?;
        labels.insert(label.trim().to_owned(), value);
        rest = behind;
    }
}

/// Reads a text in quotes, with its escapes `\\`, `\"` and `\n`; returns the rest too.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                escaped => escaped,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{code="400", method="post",} 3
# TYPE go_goroutines gauge
go_goroutines 17 # {trace_id="abc"} 1 2
path{p="C:\\DIR\\F.TXT",e="a \"b\" {=}\nc"} 1.458255915e9
broken{a="b
nothing NaN
most{} +Inf
# TYPE rpc histogram
rpc_bucket{le="+Inf"} 2693 # {id="x"} 0.67
# TYPE foo counter
foo_total 5.0
"#;

    fn found(selector: &str) -> Vec<Sample> {
        let selector = Selector::parse(selector).expect(selector);
        samples(PAGE).filter(|sample| selector.matches(sample)).collect()
    }

    #[test]
    fn values_are_found_by_name_and_labels() {
        let check = |selector: &str, values: &[Option<f64>]| {
            let found: Vec<Option<f64>> = found(selector).iter().map(|s| s.value).collect();
            assert_eq!(found, values, "{selector}");
        };
        check("http_requests_total", &[Some(1_027.0), Some(3.0)]);
        check(r#"http_requests_total{code="400"}"#, &[Some(3.0)]);
        check(r#"http_requests_total{code="500"}"#, &[]);
        check(r#"http_requests_total{ method = "post" , code="200" }"#, &[Some(1_027.0)]);
        check("go_goroutines", &[Some(17.0)]);
        check("nothing", &[None]);
        check("most", &[None]);
        check("rpc_bucket", &[Some(2_693.0)]);
        check("broken", &[]);
        check(r#"path{e="a \"b\" {=}\nc"}"#, &[Some(1_458_255_915.0)]);
        let labels = &found("path")[0].labels;
        assert_eq!(labels["p"], r"C:\DIR\F.TXT");
        assert_eq!(labels["e"], "a \"b\" {=}\nc");
    }

    #[test]
    fn types_are_those_of_the_page() {
        for (name, expected) in [
            ("http_requests_total", "counter"),
            ("go_goroutines", "gauge"),
            ("rpc_bucket", "histogram"),
            ("foo_total", "counter"),
            ("path", "untyped"),
            ("rpc_other", "untyped"),
        ] {
            assert_eq!(kind(PAGE, name), expected, "{name}");
        }
    }

    #[test]
    fn selectors_that_are_none_are_refused() {
        for wrong in ["", "{a=\"b\"}", "a{b=c}", "a{b=\"c\"", "a b", "a{b=\"c\"} 5"] {
            let error = Selector::parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("`watch.metrics`"), "{error}");
        }
    }
}
