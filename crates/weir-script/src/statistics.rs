//! Arguments of `done`: totals, and distributions as distinct values with their counts.

use mlua::{Lua, Table, Value};

use crate::options::Mode;

/// First argument of `done`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Duration of the run, in microseconds.
    pub duration_us: u64,
    /// Completed requests.
    pub requests: u64,
    /// Received bytes.
    pub bytes: u64,
    /// Errors by class.
    pub errors: Errors,
}

/// Error counts, in wrk's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Connections that could not be opened.
    pub connect: u64,
    /// Responses that could not be read.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Responses with a status above 399.
    pub status: u64,
    /// Requests that took longer than the timeout.
    pub timeout: u64,
}

/// A distribution passed to `done`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Distinct values, ascending, each with its count.
    pub values: Vec<(u64, u64)>,
    /// The arithmetic mean; 0 if there are no values.
    pub mean: f64,
    /// The standard deviation; 0 if there are no values.
    pub stdev: f64,
}

impl Summary {
    pub(crate) fn to_lua(self, lua: &Lua) -> mlua::Result<Table> {
        let errors = lua.create_table()?;
        errors.raw_set("connect", self.errors.connect)?;
        errors.raw_set("read", self.errors.read)?;
        errors.raw_set("write", self.errors.write)?;
        errors.raw_set("status", self.errors.status)?;
        errors.raw_set("timeout", self.errors.timeout)?;
        let summary = lua.create_table()?;
        summary.raw_set("duration", self.duration_us)?;
        summary.raw_set("requests", self.requests)?;
        summary.raw_set("bytes", self.bytes)?;
        summary.raw_set("errors", errors)?;
        Ok(summary)
    }
}

impl Statistics {
    pub(crate) fn to_lua(&self, lua: &Lua, mode: Mode) -> mlua::Result<Value> {
        let values = lua.create_sequence_from(self.values.iter().map(|(value, _)| *value))?;
        let counts = lua.create_sequence_from(self.values.iter().map(|(_, count)| *count))?;
        let chunk = lua.load(include_str!("lua/statistics.lua")).set_name("=wrk");
        chunk.call((values, counts, self.mean, self.stdev, mode == Mode::ConstantRate))
    }
}
