//! Deep copies of Lua values in transfer from one state to another; they belong to neither.

use std::ffi::c_void;

use mlua::{Lua, Table, Value};

/// Maximum table depth, so that copying needs a bounded stack.
const DEPTH_MAX: usize = 100;

/// A value that can be transferred between states.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datum {
    Nil,
    Boolean(bool),
    Number(f64),
    /// Any bytes, NUL included.
    String(Vec<u8>),
    /// Pairs of keys and values.
    Table(Vec<(Datum, Datum)>),
}

impl Datum {
    /// Copies a value out of its state.
    ///
    /// # Errors
    ///
    /// A message for the script: functions, userdata, coroutines and cdata cannot be transferred,
    /// and neither can a table that contains itself or is nested deeper than 100 tables.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        read_below(value, &mut Vec::new())
    }

    /// Copies the value into a state.
    ///
    /// # Errors
    ///
    /// The state has no memory left.
    pub(crate) fn write(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Boolean(boolean) => Value::Boolean(*boolean),
            Self::Number(number) => Value::Number(*number),
            Self::String(bytes) => Value::String(lua.create_string(bytes)?),
            Self::Table(entries) => {
                let table = lua.create_table_with_capacity(0, entries.len())?;
                for (key, value) in entries {
                    table.raw_set(key.write(lua)?, value.write(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }

    /// Estimates the memory that the copy needs in a state, in bytes, rounded up generously.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Nil | Self::Boolean(_) | Self::Number(_) => 0,
            Self::String(bytes) => 32 + bytes.len(),
            Self::Table(entries) => {
                let inner =
                    entries.iter().map(|(key, value)| key.size_bytes() + value.size_bytes());
                // A node has 24 bytes, and the hash part is at most twice too large.
                64 + 48 * entries.len() + inner.sum::<usize>()
            }
        }
    }
}

/// Copies a value; `path` holds the tables that contain it.
fn read_below(value: &Value, path: &mut Vec<*const c_void>) -> Result<Datum, String> {
    match value {
        Value::Nil => Ok(Datum::Nil),
        Value::Boolean(boolean) => Ok(Datum::Boolean(*boolean)),
        // A whole Lua number came from a double, so it fits one.
        Value::Integer(integer) => Ok(Datum::Number(*integer as f64)),
        Value::Number(number) => Ok(Datum::Number(*number)),
        Value::String(string) => Ok(Datum::String(string.as_bytes().to_vec())),
        Value::Table(table) => read_table(table, path),
        other => Err(format!("cannot transfer '{}' to thread", type_name(other))),
    }
}

fn read_table(table: &Table, path: &mut Vec<*const c_void>) -> Result<Datum, String> {
    let identity = table.to_pointer();
    if path.contains(&identity) {
        return Err("cannot transfer a table that contains itself to thread".to_owned());
    }
    if path.len() == DEPTH_MAX {
        return Err(format!("cannot transfer tables nested deeper than {DEPTH_MAX} to thread"));
    }
    path.push(identity);
    let mut entries = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        entries.push((read_below(&key, path)?, read_below(&value, path)?));
    }
    path.pop();
    Ok(Datum::Table(entries))
}

/// Returns the name that Lua's `type` gives.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Function(_) => "function",
        Value::Thread(_) => "thread",
        Value::UserData(_) | Value::LightUserData(_) | Value::Error(_) => "userdata",
        _ => "cdata",
    }
}
