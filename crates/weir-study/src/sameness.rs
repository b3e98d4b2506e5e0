//! Reasons why runs cannot be compared: their grades, machines and load plans.

use serde_json::Value;
use weir_result::document::{Grade, Note};
use weir_result::{Document, DueTimes, Environment, ListOrder, Plan, Rate};
use weir_text::{brief, units};

use crate::difference::Runs;

/// Difference between the load plans of both sides that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// None but the target.
    SameLoad,
    /// Any: the user chose both loads, and a warning is enough.
    OtherLoad,
}

/// Runs without a use that are named before the rest is counted.
const REFUSED_MAX: usize = 3;

/// Names printed of a list before the rest is counted.
const NAMES_MAX: usize = 5;

/// Returns the reasons why runs cannot be compared, and warnings.
pub(crate) fn judge(runs: Runs<'_>, allowed: Allowed) -> (Vec<Note>, Vec<Note>) {
    let mut reasons = Vec::new();
    let mut warnings = Vec::new();
    for (side, name) in [(runs.a, "A"), (runs.b, "B")] {
        reasons.extend(refused(side, name));
    }
    let all = || runs.a.iter().chain(runs.b);
    let Some(first) = all().next() else { return (reasons, warnings) };
    if allowed == Allowed::SameLoad {
        warnings.extend(grade(runs.a, "A").into_iter().chain(grade(runs.b, "B")));
        warnings.extend(target(runs));
    }
    let machine = of_all(first, all(), |run| machine(&run.environment));
    if !machine.is_empty() {
        let text = format!("the runs were made in different environments: {}", list(&machine));
        reasons.push(Note::new("ENVIRONMENT", text));
    }
    let loads = without_content(of_all(first, all(), |run| load(&run.plan)));
    if !loads.is_empty() {
        let text = format!("the load plans differ: {}", list(&loads));
        match allowed {
            Allowed::SameLoad => reasons.push(Note::new("PLAN", text)),
            Allowed::OtherLoad => warnings.push(Note::new("PLAN", text)),
        }
    }
    (reasons, warnings)
}

/// Returns a note on a side's runs without a use, which names the first ones with their reasons.
fn refused(side: &[&Document], name: &str) -> Option<Note> {
    let numbered = (1..).zip(side).map(|(number, run)| (number, &run.verdict));
    let refused: Vec<_> = numbered.filter(|(_, of)| of.grade >= Grade::Failed).collect();
    let shown = refused.iter().take(REFUSED_MAX).map(|(number, verdict)| {
        let why = match verdict.reason.is_empty() {
            true => String::new(),
            false => format!(" ({})", verdict.reason),
        };
        format!("run {number} is {}{why}", verdict.grade.in_words())
    });
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = refused.len().checked_sub(REFUSED_MAX).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    (!refused.is_empty()).then(|| {
        let some = refused.len();
        let all = side.len();
        let text = format!("{some} of {all} runs of {name} are graded failed or void");
        Note::new("INVALID_RUNS", format!("{text}: {}", shown.join(", ")))
    })
}

/// Returns a note on a side's runs whose numbers are bounds.
fn grade(side: &[&Document], name: &str) -> Option<Note> {
    let mut bounded = side.iter().filter(|run| run.verdict.grade == Grade::Bounded);
    let first = bounded.next()?;
    let text = match side.len() {
        1 => format!("{name} is graded bounded: {}", first.verdict.reason),
        runs => format!("{} of {runs} runs of {name} are graded bounded", 1 + bounded.count()),
    };
    Some(Note::new("GRADE", text))
}

/// Returns a note if the sides have different targets, which may be the question.
fn target(runs: Runs<'_>) -> Option<Note> {
    let [a, b] = [runs.a.first()?, runs.b.first()?].map(|run| &run.plan.url);
    (a != b).then(|| Note::new("TARGET", format!("the targets are {a} and {b}")))
}

/// Returns the paths at which two JSON values differ, with both values in the form in which people
/// write them: `warmup is 200 ms and 100 ms`.
pub fn differences(a: &Value, b: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect("", &readable(a), &readable(b), &mut found);
    found
}

/// Replaces spans in nanoseconds, rates, their curves and headers by their text.
fn readable(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(readable).collect(),
        Value::Object(fields) => {
            if let Ok(rate) = serde_json::from_value::<Rate>(value.clone()) {
                return rate.to_string().into();
            }
            if let Ok(curve @ DueTimes::Curve { .. }) = serde_json::from_value(value.clone()) {
                return curve.to_string().into();
            }
            let text = |name| fields.get(name).and_then(Value::as_str);
            if let (2, Some(name), Some(value)) = (fields.len(), text("name"), text("value")) {
                return format!("{name}: {value}").into();
            }
            let field = |(name, value): (&String, &Value)| match (name.strip_suffix("_ns"), value) {
                (Some(name), Value::Number(_) | Value::Null) => {
                    let text = value.as_u64().map(units::plain_duration);
                    (name.to_owned(), text.into())
                }
                _ => (name.clone(), readable(value)),
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

fn collect(path: &str, a: &Value, b: &Value, found: &mut Vec<String>) {
    let inner = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            for name in names {
                let at = |fields: &serde_json::Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or(Value::Null)
                };
                collect(&inner(name), &at(one), &at(other), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path} is {} and {}", shown(a), shown(b))),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Differences of all runs from the first, each path once.
fn of_all<'d>(
    first: &Document,
    runs: impl Iterator<Item = &'d &'d Document>,
    facts: impl Fn(&Document) -> Value,
) -> Vec<String> {
    let own = facts(first);
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for value in runs.map(|run| facts(run)) {
        if seen.contains(&value) {
            continue;
        }
        for text in differences(&own, &value) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
        seen.push(value);
    }
    found
}

/// The facts of the environment that change results.
fn machine(environment: &Environment) -> Value {
    serde_json::json!({
        "weir_version": environment.weir_version,
        "weir_commit": environment.weir_commit,
        "io_engine": environment.io_engine,
        "hostname": environment.hostname,
        "os": environment.os,
        "kernel": environment.kernel,
        "cpu_model": environment.cpu_model,
        "cpus_online": environment.cpus_online,
        "cpus_usable": environment.cpus_usable,
        "cpu_governor": environment.cpu_governor,
        "clock_source": environment.clock_source,
        "congestion_control": environment.congestion_control,
    })
}

/// The load of a plan without its target and without the seed of its arrivals.
fn load(plan: &Plan) -> Value {
    let mut plan = plan.clone();
    plan.load.seed_mut().into_iter().for_each(|seed| *seed = 0);
    let mut value = serde_json::to_value(&plan).unwrap_or_default();
    // The Host header is in the bytes of the request.
    let left_out = [
        ("/list/order", "seed"),
        ("/list/templates", "seed"),
        ("/load/due/log", "name"),
        ("", "url"),
        ("", "target"),
        ("/request", "wire_bytes"),
    ];
    for (place, field) in left_out {
        value.pointer_mut(place).and_then(Value::as_object_mut).map(|of| of.remove(field));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.insert("list".to_owned(), list_of(&plan));
    }
    value
}

/// The list of a plan by its digest, its names and its order without the seed.
fn list_of(plan: &Plan) -> Value {
    let Some(list) = &plan.list else { return serde_json::json!({}) };
    let order = match list.order {
        ListOrder::Sequential => "sequential",
        ListOrder::Random { .. } => "random",
        ListOrder::Once => "once",
    };
    serde_json::json!({
        "sha256": list.sha256,
        "order": order,
        "rows": list.rows,
        "names": brief(&list.names.join(", ")),
    })
}

/// Leaves out what follows from another list: the digests say that the lists differ.
fn without_content(mut differences: Vec<String>) -> Vec<String> {
    let is_of_digest = |text: &String| text.starts_with("list.sha256 ");
    if differences.iter().any(is_of_digest) {
        let follows = |text: &String| {
            let is_of_log =
                text.starts_with("load.due.log.") && !text.starts_with("load.due.log.speed ");
            is_of_log || (text.starts_with("list.") && !is_of_digest(text))
        };
        differences.retain(|text| !follows(text));
    }
    differences
}

/// Formats the first of some texts, and how many there are more.
fn list(texts: &[String]) -> String {
    let shown = texts.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join("; ");
    match texts.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
