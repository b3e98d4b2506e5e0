//! The files of measured entries: JSON with a line for each row of a table.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::entry::{Entry, Outcome, Table};

/// Names of the outcomes in files.
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::AsExpected, "as expected"),
    (Outcome::NotAsExpected, "NOT as expected"),
    (Outcome::NotJudged, "not judged"),
    (Outcome::Reported, "reported"),
];

impl Entry {
    /// Reads an entry from the text of its file.
    pub fn from_json(text: &str) -> Result<Entry> {
        read(text).context("failed to read a measured entry")
    }

    /// Returns the text of the entry's file, with a line for each row of a table.
    pub fn to_json(&self) -> String {
        text(self)
    }
}

fn text(entry: &Entry) -> String {
    let outcome = OUTCOMES.iter().find(|(outcome, _)| *outcome == entry.outcome);
    let outcome = outcome.map_or("", |(_, name)| name);
    let pairs =
        entry.machine.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
    let machine = format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "));
    let tables: Vec<String> = entry.tables.iter().map(table_text).collect();
    let fields = [
        ("id", quoted(&entry.id)),
        ("title", quoted(&entry.title)),
        ("question", quoted(&entry.question)),
        ("method", quoted(&entry.method)),
        ("outcome", quoted(outcome)),
        ("verdict", quoted(&entry.verdict)),
        ("failures", list(&entry.failures)),
        ("doubts", list(&entry.doubts)),
        ("notes", list(&entry.notes)),
        ("date", quoted(&entry.date)),
        ("commit", quoted(&entry.commit)),
        ("machine", machine),
        ("seconds", entry.seconds.to_string()),
        ("conditions", quoted(&entry.conditions)),
        ("summary", entry.summary.as_ref().map_or("null".to_owned(), table_text)),
        ("tables", format!("[{}]", tables.join(", "))),
    ];
    let fields = fields.map(|(name, value)| format!("  \"{name}\": {value}"));
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

fn table_text(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| format!("\n      {}", list(row)));
    format!(
        "{{\n    \"above\": {},\n    \"heads\": {},\n    \"rows\": [{}\n    ]\n  }}",
        quoted(&table.above),
        list(&table.heads),
        rows.collect::<Vec<_>>().join(",")
    )
}

fn list(items: &[String]) -> String {
    let items = items.iter().map(|item| quoted(item));
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn read(text: &str) -> Result<Entry> {
    let file: Value = serde_json::from_str(text)?;
    let outcome = string(&file, "outcome")?;
    let Some((outcome, _)) = OUTCOMES.into_iter().find(|(_, name)| *name == outcome) else {
        bail!("`{outcome}` is no outcome");
    };
    let pairs = file["machine"].as_object().context("`machine` is no object")?;
    let machine = pairs.keys().map(|name| Ok((name.clone(), string(&file["machine"], name)?)));
    Ok(Entry {
        id: string(&file, "id")?,
        title: string(&file, "title")?,
        question: string(&file, "question")?,
        method: string(&file, "method")?,
        outcome,
        verdict: string(&file, "verdict")?,
        failures: strings(&file["failures"])?,
        doubts: strings(&file["doubts"])?,
        notes: strings(&file["notes"])?,
        summary: Some(&file["summary"]).filter(|table| !table.is_null()).map(table).transpose()?,
        tables: array(&file["tables"])?.iter().map(table).collect::<Result<_>>()?,
        date: string(&file, "date")?,
        commit: string(&file, "commit")?,
        machine: machine.collect::<Result<BTreeMap<_, _>>>()?,
        seconds: file["seconds"].as_u64().context("`seconds` is no number")?,
        conditions: string(&file, "conditions")?,
    })
}

fn table(value: &Value) -> Result<Table> {
    let rows = array(&value["rows"])?.iter().map(strings);
    Ok(Table {
        above: string(value, "above")?,
        heads: strings(&value["heads"])?,
        rows: rows.collect::<Result<_>>()?,
    })
}

fn string(value: &Value, name: &str) -> Result<String> {
    let text = value[name].as_str().with_context(|| format!("`{name}` is no text"))?;
    Ok(text.to_owned())
}

fn strings(value: &Value) -> Result<Vec<String>> {
    let text = |item: &Value| item.as_str().map(str::to_owned).context("an item is no text");
    array(value)?.iter().map(text).collect()
}

fn array(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().with_context(|| format!("{value} is no list"))
}
