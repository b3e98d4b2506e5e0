//! The arguments of `done` as Lua values.

use mlua::{Lua, Table, Value};

use super::{Errors, Statistics, Summary};
use crate::options::Mode;

impl Summary {
    pub(crate) fn to_lua(self, lua: &Lua) -> mlua::Result<Table> {
        let Errors { connect, read, write, status, timeout } = self.errors;
        let errors = [("connect", connect), ("read", read), ("write", write)];
        let errors = errors.into_iter().chain([("status", status), ("timeout", timeout)]);
        let counts = [("requests", self.requests), ("bytes", self.bytes)];
        let summary =
            lua.create_table_from([("duration", self.duration_us)].into_iter().chain(counts))?;
        summary.raw_set("errors", lua.create_table_from(errors)?)?;
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
