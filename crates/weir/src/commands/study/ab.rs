//! `weir ab`: two variants in interleaved pairs of runs.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::study::Design;
use weir_study::Variant;

use super::making::{make, metrics, primary_metric};
use super::variant::of_words;
use crate::args::study::AbArgs;
use crate::args::without_those_of;

/// Metrics of the result.
const METRICS: [&str; 6] = ["rate", "p50", "p90", "p99", "p99.9", "mean"];

/// Makes the study.
///
/// # Errors
/// When the command line is wrong, or the study cannot be kept.
pub(crate) fn ab(args: &AbArgs) -> Result<ExitCode> {
    let [first, second] = &args.names;
    let variant = |name: &str, flag: &str, own: Option<&str>| {
        let words = joined(&args.run, own).with_context(|| format!("{flag} cannot be read"))?;
        of_words(name, &words).with_context(|| format!("variant {name}"))
    };
    let variants =
        vec![variant(first, "-a", args.a.as_deref())?, variant(second, "-b", args.b.as_deref())?];
    if args.a.is_none() && args.b.is_none() && args.study.before.is_none() {
        bail!(
            "A and B are the same: give -a and -b, or a command that switches between them with \
             --before, which gets {} or {} as WEIR_VARIANT",
            args.names[0],
            args.names[1]
        );
    }
    let is_planned =
        |variant: &Variant| variant.spec.replay.is_some() || variant.spec.load.is_open_loop();
    let primary = primary_metric(variants.iter().all(is_planned));
    let design = Design::Ab {
        metrics: metrics(&args.study.metrics, Some(primary), &METRICS),
        threshold: args.threshold,
        pairs: args.pairs,
    };
    let words = command(&variants);
    make(&args.study, design, variants, words, args.fail_on)
}

/// The words of one variant, then the common ones that it does not replace.
fn joined(common: &[OsString], own: Option<&str>) -> Result<Vec<OsString>> {
    let own = shlex::split(own.unwrap_or_default()).context("a quote is not closed")?;
    // Options first: words after the URL are the script's.
    let own: Vec<OsString> = own.into_iter().map(OsString::from).collect();
    let common = without_those_of(common, &own);
    Ok(own.into_iter().chain(common).collect())
}

/// The command line with each variant in full, without secrets.
fn command(variants: &[Variant]) -> Vec<String> {
    let quoted = |variant: &Variant| {
        let words = variant.cell.words.iter().map(String::as_str);
        shlex::try_join(words).unwrap_or_else(|_| variant.cell.words.join(" "))
    };
    let flags = ["-a", "-b"].into_iter().zip(variants);
    let both = flags.flat_map(|(flag, variant)| [flag.to_owned(), quoted(variant)]);
    std::iter::once("ab".to_owned()).chain(both).collect()
}
