//! The types of weir-script in an engine without the feature `script`. There is no [`Worker`], so
//! that code which has one compiles and is never reached.

use std::net::SocketAddr;

/// A worker's script, of which there is none.
#[derive(Debug)]
pub enum Worker {}

/// Callbacks that a script defines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) request: bool,
    pub(crate) delay: bool,
    pub(crate) response: Option<Wants>,
    pub(crate) knows_connections: bool,
}

/// Parts of a response that a script reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) fields: bool,
    pub(crate) body: bool,
}

/// Origin of a response.
#[derive(Debug)]
#[expect(dead_code, reason = "only a script reads it")]
pub(crate) struct About<'a> {
    pub(crate) connection: u32,
    pub(crate) request: &'a [u8],
}

/// A failure of a script.
#[derive(Clone, Debug)]
pub struct ScriptError {
    /// Callback that failed.
    pub callback: &'static str,
    /// Description of the failure.
    pub message: String,
}

impl Worker {
    pub(crate) fn calls(&self) -> Calls {
        match *self {}
    }

    pub(crate) fn static_request(&self) -> &[u8] {
        match *self {}
    }

    pub(crate) fn request(&mut self, _conn: Option<u32>) -> Result<&[u8], ScriptError> {
        match *self {}
    }

    pub(crate) fn refused(&self, _problem: &str) -> ScriptError {
        match *self {}
    }

    pub(crate) fn delay(&mut self, _conn: Option<u32>) -> Result<u64, ScriptError> {
        match *self {}
    }

    pub(crate) fn response<'a>(
        &mut self,
        _status: u16,
        _fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        _body: &[u8],
        _about: Option<About<'_>>,
    ) -> Result<(), ScriptError> {
        match *self {}
    }

    pub(crate) fn set_body_cut(&self, _is_cut: bool) {
        match *self {}
    }

    pub(crate) fn opened(&mut self, _conn: u32) -> Result<(), ScriptError> {
        match *self {}
    }

    pub(crate) fn is_stopped(&self) -> bool {
        match *self {}
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match *self {}
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match *self {}
    }
}
