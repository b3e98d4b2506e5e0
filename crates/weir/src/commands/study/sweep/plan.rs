//! The file of `weir sweep --plan`: the options of a sweep as TOML. Flags of the command line have
//! precedence over it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_result::study::Factor;
use weir_runner::{SETTINGS_MAX_BYTES, read_text_input};
use weir_verdict::AssertionError;

use crate::args::metrics::MetricList;
use crate::args::study::{SweepArgs, checked_factor};
use crate::args::{are_one_flag, target_at, without_those_of};
use crate::terminal::shown;

/// Keys of the file.
const KEYS: [&str; 7] = ["url", "args", "vary", "repetitions", "metrics", "before", "after"];

/// Content of the file.
#[derive(Debug, Default, PartialEq)]
struct SweepPlan {
    url: Option<String>,
    args: Vec<String>,
    vary: Vec<Factor>,
    repetitions: Option<u32>,
    metrics: Vec<MetricList>,
    before: Option<String>,
    after: Option<String>,
}

/// Adds the options of a file to the command line's.
///
/// # Errors
/// When the file cannot be read, has an unknown key or a wrong value, or names a URL beside
/// another one.
pub(super) fn completed(mut args: SweepArgs, path: &Path) -> Result<SweepArgs> {
    let file = || format!("--plan {}", shown(path));
    let text = read_text_input("--plan", path, SETTINGS_MAX_BYTES)?;
    let plan = SweepPlan::parse(&text).map_err(|error| anyhow!("{}: {error}", file()))?;
    args.run = words(&plan, &args.run).with_context(file)?;
    let is_given =
        |factor: &Factor| args.vary.iter().any(|other| are_one_flag(&other.name, &factor.name));
    let (_, added): (Vec<_>, Vec<_>) = plan.vary.into_iter().partition(is_given);
    args.vary.extend(added);
    args.repetitions = args.repetitions.or(plan.repetitions);
    if args.study.metrics.is_empty() {
        args.study.metrics = plan.metrics;
    }
    args.study.before = args.study.before.or(plan.before);
    args.study.after = args.study.after.or(plan.after);
    Ok(args)
}

/// The command line of the runs: options of the file that the command line does not replace, the
/// URL, then the words of the command line.
fn words(plan: &SweepPlan, given: &[OsString]) -> Result<Vec<OsString>> {
    let words: Vec<OsString> = plan.args.iter().map(OsString::from).collect();
    let mut words = without_those_of(&words, given);
    let in_args = target_at(&words).is_some();
    let is_given = target_at(given).is_some();
    if in_args && plan.url.is_some() {
        bail!("url and args both name a URL: leave one of them out");
    }
    if in_args && is_given {
        bail!("args names a URL, and so does the command line: write it as url, which gives way");
    }
    let url = plan.url.as_ref().filter(|_| !is_given).map(OsString::from);
    // Words after `--` are for the script.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(end..end, url.into_iter().chain(given.iter().cloned()));
    Ok(words)
}

impl SweepPlan {
    /// Parses the file. The error begins with the line.
    fn parse(text: &str) -> Result<SweepPlan, String> {
        let at = |start: usize, error: String| {
            let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
            format!("line {line}: {error}")
        };
        let table = DeTable::parse(text).map_err(|error| {
            at(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let mut plan = SweepPlan::default();
        for (key, value) in table.get_ref() {
            let place = match key.get_ref().as_ref() {
                "vary" => "vary.".to_owned(),
                key if KEYS.contains(&key) => format!("{key}: "),
                key => format!("unknown key {key:?}; "),
            };
            let set = plan.set(key.get_ref(), value.get_ref());
            set.map_err(|error| at(key.span().start, format!("{place}{error}")))?;
        }
        Ok(plan)
    }

    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Result<(), String> {
        match key {
            "url" => self.url = Some(text(value)?),
            "args" => self.args = arguments(value)?,
            "vary" => self.vary = factors(value)?,
            "repetitions" => self.repetitions = Some(count(value)?),
            "metrics" => {
                let metrics = list(value)?;
                let metrics = metrics.iter().map(|text| text.parse()).collect::<Result<_, _>>();
                self.metrics = metrics.map_err(|error: AssertionError| error.to_string())?;
            }
            "before" => self.before = Some(text(value)?),
            "after" => self.after = Some(text(value)?),
            _ => return Err(format!("the keys are {}", KEYS.join(", "))),
        }
        Ok(())
    }
}

/// Parses `["-d5s", "http://h/"]`, or the same as one text with a shell's quotes.
fn arguments(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value {
        DeValue::String(line) => {
            shlex::split(line).ok_or_else(|| "a quote is not closed".to_owned())
        }
        _ => list(value),
    }
}

/// Parses the table of the options to vary, in its own order.
fn factors(value: &DeValue<'_>) -> Result<Vec<Factor>, String> {
    let table = value.as_table().ok_or_else(|| lacks("a table: c = [1, 10, 100]", value))?;
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let factor = |(name, values): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &str = AsRef::<str>::as_ref(name.get_ref());
        let values = list(values.get_ref()).and_then(|values| checked_factor(name, values));
        values.map_err(|error| format!("{name}: {error}"))
    };
    entries.into_iter().map(factor).collect()
}

fn list(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let values = value.as_array().ok_or_else(|| lacks("a list: [1, 10, 100]", value))?;
    values.iter().map(|value| word(value.get_ref())).collect()
}

/// Returns a text or a number as the word of a command line.
fn word(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        _ => Err(lacks("a text or a decimal number", value)),
    }
}

fn text(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| lacks("a text in quotes", value))
}

fn count(value: &DeValue<'_>) -> Result<u32, String> {
    let number = value.as_integer().filter(|number| number.radix() == 10);
    let number = number.and_then(|number| number.as_str().parse().ok());
    number.filter(|number| *number > 0).ok_or_else(|| "must be a whole number above 0".to_owned())
}

fn lacks(expected: &str, value: &DeValue<'_>) -> String {
    format!("must be {expected}; it is of type {}", value.type_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str, values: &[&str]) -> Factor {
        let values = values.iter().copied().map(str::to_owned).collect();
        Factor { name: name.to_owned(), values }
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = r#"
            url = "http://h/"
            args = "-d5s -H 'A: b c'"
            repetitions = 3
            metrics = ["p99", "rate"]
            before = "./restart.sh"
            [vary]
            rate = [0.5, "20k", 1_000]
            close = ["none", "server"]
            c = [1, 10]
        "#;
        let expected = SweepPlan {
            url: Some("http://h/".to_owned()),
            args: ["-d5s", "-H", "A: b c"].map(str::to_owned).into(),
            vary: vec![
                factor("rate", &["0.5", "20k", "1000"]),
                factor("close", &["none", "server"]),
                factor("c", &["1", "10"]),
            ],
            repetitions: Some(3),
            metrics: ["p99", "rate"].map(|name| name.parse().expect("a metric")).into(),
            before: Some("./restart.sh".to_owned()),
            after: None,
        };
        assert_eq!(SweepPlan::parse(text), Ok(expected));
        assert_eq!(SweepPlan::parse(""), Ok(SweepPlan::default()));
    }

    #[test]
    fn errors_name_the_line_the_key_and_the_remedy() {
        for (text, expected) in [
            ("a\n= 1", "line 1: "),
            (
                "\nrepetition = 3",
                "line 2: unknown key \"repetition\"; the keys are url, args, vary",
            ),
            ("vary = 3", "line 1: vary.must be a table"),
            ("[vary]\nc = 10", "vary.c: must be a list: [1, 10, 100]; it is of type integer"),
            ("[vary]\nc = []", "vary.c: write it like"),
            ("[vary]\nc = [1, 1]", "vary.c: 1 is there twice"),
            ("[vary]\nc = [0x10]", "vary.c: must be a text or a decimal number"),
            ("[vary]\nc = [[1]]", "it is of type array"),
            ("repetitions = 0", "repetitions: must be a whole number above 0"),
            ("repetitions = \"3\"", "repetitions: must be a whole number above 0"),
            ("metrics = [\"p98\"]", "metrics: "),
            ("url = 3", "url: must be a text in quotes; it is of type integer"),
            ("args = \"'a\"", "args: a quote is not closed"),
            ("url = \"a\"\nurl = \"b\"", "line 2: duplicate key"),
        ] {
            let error = SweepPlan::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[track_caller]
    fn check_words(url: Option<&str>, args: &str, given: &str, expected: &str) {
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let plan =
            SweepPlan { url: url.map(str::to_owned), args: split(args), ..SweepPlan::default() };
        let given: Vec<OsString> = split(given).into_iter().map(OsString::from).collect();
        let found = words(&plan, &given).map_err(|error| error.to_string());
        let joined = |words: Vec<OsString>| {
            words.iter().filter_map(|word| word.to_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found.map(joined).unwrap_or_else(|error| error), expected);
    }

    #[test]
    fn the_command_line_wins() {
        check_words(Some("http://a/"), "-c5 -d 1s", "-d2s", "-c5 http://a/ -d2s");
        check_words(Some("http://a/"), "-c5", "-d 2s http://b/", "-c5 -d 2s http://b/");
        check_words(Some("http://a/"), "-c5 -d 1s", "-d2s -c 6", "http://a/ -d2s -c 6");
        check_words(None, "-s x http://a/ -- y", "-c2", "-s x http://a/ -c2 -- y");
        let both = "url and args both name a URL: leave one of them out";
        check_words(Some("http://a/"), "http://b/", "", both);
        let twice =
            "args names a URL, and so does the command line: write it as url, which gives way";
        check_words(None, "http://a/", "http://b/", twice);
    }
}
