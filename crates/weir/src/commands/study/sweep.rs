//! `weir sweep`: all combinations of some options.

mod plan;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::study::{Cell, Design, Factor, Level};
use weir_study::Variant;

use super::making::{self, metrics};
use super::variant::of_levels;
use crate::args::study::SweepArgs;
use crate::args::{are_one_flag, target_at, without_those_of};

/// Metrics of the result.
const METRICS: [&str; 5] = ["rate", "p50", "p99", "p99.9", "errors"];

/// Runs of each combination, unless the flag or the file of `--plan` says otherwise.
const REPETITIONS: u32 = 3;

/// Greatest number of combinations.
const CELLS_MAX: usize = 1_000;

/// Makes the study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn sweep(args: &SweepArgs) -> Result<ExitCode> {
    let mut args = args.clone();
    args.vary = factors(args.vary)?;
    if let Some(path) = args.plan.clone() {
        args = plan::completed(args, &path)?;
        args.vary = factors(args.vary)?;
    }
    make(&args)
}

/// Joins the values of a factor that is named several times.
fn factors(named: Vec<Factor>) -> Result<Vec<Factor>> {
    let mut factors: Vec<Factor> = Vec::new();
    for Factor { name, values } in named {
        match factors.iter_mut().find(|factor| are_one_flag(&factor.name, &name)) {
            Some(factor) if factor.name != name => bail!(
                "--vary {} and --vary {name} are one option: write all its values under one name",
                factor.name
            ),
            Some(factor) => {
                if let Some(twice) = values.iter().find(|value| factor.values.contains(value)) {
                    bail!("--vary {name}: {twice} is there twice");
                }
                factor.values.extend(values);
            }
            None => factors.push(Factor { name, values }),
        }
    }
    Ok(factors)
}

fn make(args: &SweepArgs) -> Result<ExitCode> {
    let count = args.vary.iter().map(|factor| factor.values.len()).product::<usize>();
    if count > CELLS_MAX {
        bail!("--vary gives {count} combinations, more than {CELLS_MAX}: vary fewer values");
    }
    if args.vary.is_empty() {
        bail!("name the options to vary: --vary c=1,10,100, or [vary] in the file of --plan");
    }
    if args.run.is_empty() {
        bail!("name the URL of the runs");
    }
    if let Some(ratio) = &args.ratio {
        let factor = args.vary.iter().find(|factor| factor.name == *ratio);
        if factor.is_none_or(|factor| factor.values.len() != 2) {
            bail!("--ratio {ratio}: name a factor of --vary with two values");
        }
    }
    let cells = weir_study::cells(&args.vary);
    let variants =
        cells.into_iter().map(|cell| variant(cell, &args.run)).collect::<Result<Vec<_>>>()?;
    let metrics = metrics(&args.study.metrics, None, &METRICS);
    let repetitions = args.repetitions.unwrap_or(REPETITIONS);
    let design = Design::Sweep {
        factors: args.vary.clone(),
        repetitions,
        ratio: args.ratio.clone(),
        metrics,
    };
    let mut own = vec!["sweep".to_owned(), "-n".to_owned(), repetitions.to_string()];
    for factor in &args.vary {
        own.extend(["--vary".to_owned(), format!("{}={}", factor.name, factor.values.join(","))]);
    }
    let redacted_words = |variant: &Variant| {
        let mut spec = variant.spec.clone();
        spec.set_command(args.run.iter().cloned());
        spec.command.unwrap_or_default()
    };
    let base = variants.first().map(redacted_words);
    own.extend(base.into_iter().flatten());
    making::make(&args.study, design, variants, own, None)
}

/// The run of one combination.
fn variant(cell: Cell, base: &[OsString]) -> Result<Variant> {
    let words = words(base, &cell.levels)?;
    of_levels(&cell.name, cell.levels, &words).with_context(|| format!("--vary: {}", cell.name))
}

/// The command line of a combination: the common words that it does not replace, then its options.
fn words(base: &[OsString], levels: &[Level]) -> Result<Vec<OsString>> {
    let mut own = Vec::new();
    let mut base = base.to_vec();
    // The path is one of the URL.
    if let Some(url) = levels.iter().find(|level| level.factor == "url") {
        set_url(&mut base, &url.value);
    }
    for Level { factor, value } in levels {
        match (factor.as_str(), value.as_str()) {
            ("url", _) => {}
            ("close", "none") => base = without_those_of(&base, &["--close=none".into()]),
            ("path", path) => set_path(&mut base, path)?,
            (name, value) if name.chars().count() == 1 => own.push(format!("-{name}{value}")),
            (name, value) => own.push(format!("--{name}={value}")),
        }
    }
    let own: Vec<OsString> = own.into_iter().map(OsString::from).collect();
    let mut base = without_those_of(&base, &own);
    // Before what a script gets.
    let end = base.iter().position(|word| word == "--").unwrap_or(base.len());
    base.splice(end..end, own);
    Ok(base)
}

/// Puts a URL in the place of the one that is there, or at the end.
fn set_url(words: &mut Vec<OsString>, url: &str) {
    match target_at(words) {
        Some(index) => words[index] = url.into(),
        None => words.push(url.into()),
    }
}

/// Puts a path into the URL.
fn set_path(words: &mut [OsString], path: &str) -> Result<()> {
    let url = target_at(words).context("--vary path=…: name the URL")?;
    let text = words[url].to_string_lossy();
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
    let slash = if path.starts_with('/') { "" } else { "/" };
    words[url] = format!("{}{slash}{path}", &text[..end]).into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, levels: &[(&str, &str)], expected: &str) {
        let base: Vec<OsString> = base.split(' ').map(OsString::from).collect();
        let level = |(factor, value): &(&str, &str)| Level {
            factor: (*factor).into(),
            value: (*value).into(),
        };
        let levels: Vec<Level> = levels.iter().map(level).collect();
        let found = words(&base, &levels).expect("a URL");
        let found: Vec<_> = found.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn a_factor_is_named_once() {
        let found = |named: &[&str]| {
            let factor = |text: &&str| {
                let (name, values) = text.split_once('=').expect("a factor");
                Factor { name: name.into(), values: values.split(',').map(str::to_owned).collect() }
            };
            let found = factors(named.iter().map(factor).collect());
            let shown = |factors: Vec<Factor>| {
                let shown =
                    |factor: &Factor| format!("{}={}", factor.name, factor.values.join(","));
                factors.iter().map(shown).collect::<Vec<_>>().join(" ")
            };
            found.map(shown).unwrap_or_else(|error| error.to_string())
        };
        assert_eq!(found(&["c=1", "d=1s", "c=2,3"]), "c=1,2,3 d=1s");
        assert_eq!(found(&["url=a", "path=b", "pipeline=1"]), "url=a path=b pipeline=1");
        assert_eq!(found(&["c=1,2", "c=2"]), "--vary c: 2 is there twice");
        let both = "are one option: write all its values under one name";
        assert_eq!(
            found(&["c=1", "connections=2"]),
            format!("--vary c and --vary connections {both}")
        );
        assert_eq!(found(&["rate=1k", "R=2k"]), format!("--vary rate and --vary R {both}"));
    }

    #[test]
    fn levels_become_options() {
        check("-d2s http://h/", &[("c", "10"), ("close", "none")], "-d2s http://h/ -c10");
        check(
            "http://h/x -- a",
            &[("rate", "5k"), ("close", "server")],
            "http://h/x --rate=5k --close=server -- a",
        );
        check("-c 5 -Ld1s http://h/", &[("c", "10"), ("d", "2s")], "-L http://h/ -c10 -d2s");
        check("--close client http://h/", &[("close", "none")], "http://h/");
        check("-c5 http://h:1?q", &[("path", "/a/b?c")], "-c5 http://h:1/a/b?c");
        check("-c5 http://h/", &[("url", "http://i/")], "-c5 http://i/");
        check("-c5", &[("url", "http://i/"), ("path", "x")], "-c5 http://i/x");
        check("-c5", &[("path", "x"), ("url", "http://i/")], "-c5 http://i/x");
        check("h:1/a -c5", &[("path", "b")], "h:1/b -c5");
        let watch = "--watch-nginx http://h/status http://h/";
        check(watch, &[("path", "/a")], "--watch-nginx http://h/status http://h/a");
    }
}
