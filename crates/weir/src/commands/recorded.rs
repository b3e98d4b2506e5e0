//! The run of a document, to be repeated: its specification, its plan and its files.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weir_result::document::Input;
use weir_result::{Arrivals, HttpPlan, Plan};
use weir_runner::{HttpChoice, PreparedRun, RunSpec};

/// Returns the stored specification of a run. `command` is its command line.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) fn spec_of(stored: Option<&Value>, command: Option<&[String]>) -> Result<RunSpec> {
    let Some(stored) = stored else {
        let words = command.map(|words| words.iter().map(String::as_str));
        let line = words.and_then(|words| shlex::try_join(words).ok());
        let line = line.map_or_else(String::new, |line| format!(": {line}"));
        bail!("it has no specification; type its command line{line}");
    };
    Ok(RunSpec::from_json(stored.to_string().as_bytes())?)
}

/// Sets what a specification leaves open as it was decided in the recorded run: the seed, the HTTP
/// version, threads and pacing.
pub(crate) fn settle_choices(spec: &mut RunSpec, plan: &Plan) {
    if let (Some(seed), Some(Arrivals::Poisson { seed: recorded })) =
        (spec.load.seed_mut(), plan.load.arrivals())
    {
        *seed = recorded;
    }
    if spec.http.version == HttpChoice::Auto {
        spec.http.version = match plan.http {
            Some(HttpPlan::Http2(_)) => HttpChoice::Http2,
            Some(HttpPlan::Http11) => HttpChoice::Http11,
            _ => HttpChoice::Auto,
        };
    }
    spec.engine.threads = Some(plan.threads);
    spec.engine.pacing = Some(plan.pacing);
}

/// Checks that a planned run is the recorded one, but for the `changed` fields of its plan.
///
/// # Errors
/// When its plan or a file differs; the message names the difference.
pub(crate) fn check_same(
    document: &weir_result::Document,
    prepared: &dyn PreparedRun,
    changed: &[&str],
) -> Result<()> {
    let mut found = changed_inputs(&document.run.inputs, prepared.inputs());
    let is_same = document.run.plan_sha256.as_ref() == Some(&prepared.plan_sha256());
    if !is_same {
        let recorded = json(&document.plan, changed)?;
        let planned = json(prepared.plan(), changed)?;
        let plans = weir_study::differences(&recorded, &planned);
        found.extend(plans.into_iter().map(|text| format!("plan.{text}")));
    }
    match &found[..] {
        [] if is_same || !changed.is_empty() => Ok(()),
        [] => bail!("the digest of the plan differs: this weir plans the run in another way"),
        some => bail!("this would be another run: {} (recorded and now)", some.join("; ")),
    }
}

/// Returns what two plans must have in common: all but the fields with these JSON pointers.
fn json(plan: &Plan, changed: &[&str]) -> Result<Value> {
    let mut plan = plan.clone();
    // It follows from the others, and from the length of secrets.
    plan.request.wire_bytes = 0;
    // The recorded number of threads is given now.
    plan.leaves_cpus = false;
    let mut value = serde_json::to_value(&plan).context("the plan cannot be written")?;
    for pointer in changed {
        let (place, name) = pointer.rsplit_once('/').unwrap_or_default();
        value.pointer_mut(place).and_then(Value::as_object_mut).map(|of| of.remove(name));
    }
    Ok(value)
}

/// Returns the files that a run reads now and none of `recorded` is. A file may name any: its
/// content would go to the server.
pub(crate) fn new_inputs<'a>(recorded: &[Input], now: &'a [Input]) -> Vec<&'a str> {
    let is_new = |input: &&Input| {
        !recorded.iter().any(|other| other.path == input.path && other.sha256 == input.sha256)
    };
    now.iter().filter(is_new).map(|input| input.path.as_str()).collect()
}

fn changed_inputs(recorded: &[Input], now: &[Input]) -> Vec<String> {
    let is_named = |path: &str| recorded.iter().any(|input| input.path == path);
    let new = new_inputs(recorded, now).into_iter().filter(|path| !is_named(path));
    let new = new.map(|path| format!("{path} was not read then")).collect::<Vec<_>>();
    let changed = |input: &Input| {
        let found = now.iter().find(|other| other.path == input.path && other.role == input.role);
        match found {
            Some(other) if other.sha256 == input.sha256 => None,
            Some(_) => Some(format!("the content of {} has changed", input.path)),
            None => Some(format!("{} is not read any more", input.path)),
        }
    };
    recorded.iter().filter_map(changed).chain(new).collect()
}
