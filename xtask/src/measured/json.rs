//! The files of measured entries: JSON with a line for each row of a table.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::entry::{Entry, Table};

impl Entry {
    /// Reads an entry from the text of its file.
    pub fn from_json(text: &str) -> Result<Entry> {
        serde_json::from_str(text).context("failed to read a measured entry")
    }

    /// Returns the text of the entry's file, with a line for each row of a table.
    pub fn to_json(&self) -> String {
        let pairs =
            self.machine.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
        let machine = format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "));
        let tables: Vec<String> = self.tables.iter().map(table_text).collect();
        let fields = [
            ("id", quoted(&self.id)),
            ("title", quoted(&self.title)),
            ("question", quoted(&self.question)),
            ("method", quoted(&self.method)),
            ("outcome", json!(self.outcome).to_string()),
            ("verdict", quoted(&self.verdict)),
            ("failures", list(&self.failures)),
            ("doubts", list(&self.doubts)),
            ("notes", list(&self.notes)),
            ("date", quoted(&self.date)),
            ("commit", quoted(&self.commit)),
            ("machine", machine),
            ("seconds", self.seconds.to_string()),
            ("conditions", quoted(&self.conditions)),
            ("summary", self.summary.as_ref().map_or("null".to_owned(), table_text)),
            ("tables", format!("[{}]", tables.join(", "))),
        ];
        let fields = fields.map(|(name, value)| format!("  \"{name}\": {value}"));
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }
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
