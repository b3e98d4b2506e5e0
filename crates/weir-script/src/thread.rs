//! Functions behind a thread object, by which Lua code accesses a worker's state.
//!
//! They never raise: the first result is the problem, as text, or nil.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Lua, LuaString, Table, Value};

use crate::callback::Flags;
use crate::error::NOT_ENOUGH;
use crate::ffi::WorkerState;
use crate::memory;
use crate::state::answer;
use crate::transfer::Datum;

/// Workers by their number; none for a worker that is taken for a run.
pub(crate) type Crew = Rc<RefCell<Vec<Option<WorkerState>>>>;

/// State that a thread object stands for.
#[derive(Clone)]
pub(crate) enum Reach {
    /// The state that contains the object: `wrk.thread`.
    Own(Rc<Flags>),
    /// A worker's state; the object is in the main state.
    Worker { crew: Crew, index: usize },
}

impl Reach {
    /// Calls `visit` on the state. Fails unless `here`, the calling state, has the headroom left.
    fn with<R>(
        &self,
        here: &Lua,
        limit_bytes: usize,
        visit: impl FnOnce(&Lua, &Flags) -> Result<R, String>,
    ) -> Result<R, String> {
        if !memory::has_room(here, limit_bytes, 0) {
            return Err(NOT_ENOUGH.to_owned());
        }
        match self {
            Self::Own(flags) => visit(here, flags),
            Self::Worker { crew, index } => {
                let crew = crew.borrow();
                let worker = crew.get(*index).and_then(Option::as_ref);
                let worker = worker.ok_or_else(|| format!("thread {} is running", index + 1))?;
                visit(&worker.state.lua, &worker.flags)
            }
        }
    }
}

/// Makes the functions behind one thread object, for the Lua code that constructs it.
pub(crate) fn functions(lua: &Lua, reach: &Reach, limit_bytes: usize) -> mlua::Result<Table> {
    let table = lua.create_table()?;

    let target = reach.clone();
    let get = move |here: &Lua, name: LuaString| {
        let datum = target.with(here, limit_bytes, |lua, _| {
            let value: mlua::Result<Value> = memory::without_limit(lua, limit_bytes, || {
                lua.globals().raw_get(lua.create_string(name.as_bytes())?)
            });
            Datum::read(&value.map_err(text)?)
        });
        Ok(answer(datum.and_then(|datum| {
            has_room(&datum, here, limit_bytes)?;
            memory::without_limit(here, limit_bytes, || datum.write(here)).map_err(text)
        })))
    };
    table.raw_set("get", lua.create_function(get)?)?;

    let target = reach.clone();
    let set = move |here: &Lua, (name, value): (LuaString, Value)| {
        let done = Datum::read(&value).and_then(|datum| {
            target.with(here, limit_bytes, |lua, _| {
                has_room(&datum, lua, limit_bytes)?;
                let set = memory::without_limit(lua, limit_bytes, || {
                    let name = lua.create_string(name.as_bytes())?;
                    lua.globals().raw_set(name, datum.write(lua)?)
                });
                set.map_err(text)
            })
        });
        Ok(done.err())
    };
    table.raw_set("set", lua.create_function(set)?)?;

    let target = reach.clone();
    let address = move |here: &Lua, ()| {
        let address = target.with(here, limit_bytes, |_, flags| Ok(flags.address.get()));
        Ok(answer(address.map(|address| address.map(|address| address.to_string()))))
    };
    table.raw_set("address", lua.create_function(address)?)?;

    let target = reach.clone();
    let assign = move |here: &Lua, address: String| {
        let assigned = target.with(here, limit_bytes, |_, flags| {
            flags.address.set(Some(address.parse().map_err(|_| format!("no address: {address}"))?));
            Ok(())
        });
        Ok(assigned.err())
    };
    table.raw_set("assign", lua.create_function(assign)?)?;

    let target = reach.clone();
    let stop = move |here: &Lua, ()| {
        let stopped = target.with(here, limit_bytes, |_, flags| {
            flags.stopped.set(true);
            Ok(())
        });
        Ok(stopped.err())
    };
    table.raw_set("stop", lua.create_function(stop)?)?;
    Ok(table)
}

/// Makes the functions of a state's own thread object, which also reports on the current response.
pub(crate) fn own_functions(
    lua: &Lua,
    flags: &Rc<Flags>,
    limit_bytes: usize,
) -> mlua::Result<Table> {
    let table = functions(lua, &Reach::Own(Rc::clone(flags)), limit_bytes)?;
    let flags = Rc::clone(flags);
    let body_cut = move |_: &Lua, ()| Ok(flags.body_cut.get());
    table.raw_set("body_cut", lua.create_function(body_cut)?)?;
    Ok(table)
}

fn has_room(datum: &Datum, lua: &Lua, limit_bytes: usize) -> Result<(), String> {
    let fits = memory::has_room(lua, limit_bytes, datum.size_bytes());
    if fits { Ok(()) } else { Err(NOT_ENOUGH.to_owned()) }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives it by value")]
fn text(error: mlua::Error) -> String {
    error.to_string()
}
