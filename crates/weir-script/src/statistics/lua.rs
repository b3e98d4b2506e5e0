//! The arguments of `done` as Lua values.

use mlua::{Lua, Table, Value};

use super::{Statistics, Summary};
use crate::options::Mode;

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
        let chunk = lua.load(include_str!("../lua/statistics.lua")).set_name("=wrk");
        chunk.call((values, counts, self.mean, self.stdev, mode == Mode::ConstantRate))
    }
}
