//! The states in a build without LuaJIT. There are none: loading fails, so that the other functions
//! compile and are never reached.

use std::net::SocketAddr;

use crate::callback::{About, Calls};
use crate::error::{NO_ENGINE, ScriptError};
use crate::options::Options;
use crate::statistics::{Statistics, Summary};

const MESSAGE: &str = "this build has no script engine: build weir with --features script";

/// The main state, of which there is none.
#[derive(Debug)]
pub enum Main {}

/// A worker's state, of which there is none.
#[derive(Debug)]
pub enum Worker {}

impl Main {
    /// Fails: this build has no script engine.
    ///
    /// # Errors
    /// Always.
    pub fn load(_options: Options) -> Result<Main, ScriptError> {
        Err(ScriptError { callback: NO_ENGINE, message: MESSAGE.to_owned() })
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn resolve(&mut self) -> Result<Vec<SocketAddr>, ScriptError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn add_worker(&mut self) -> Result<(), ScriptError> {
        match *self {}
    }

    /// Never called.
    pub fn take_workers(&mut self) -> Vec<Worker> {
        match *self {}
    }

    /// Never called.
    pub fn return_workers(&mut self, _workers: Vec<Worker>) {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn teardown(&mut self) -> Result<(), ScriptError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn has_done(&self) -> Result<bool, ScriptError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn done(
        &mut self,
        _summary: &Summary,
        _latency: &Statistics,
        _requests: &Statistics,
    ) -> Result<(), ScriptError> {
        match *self {}
    }
}

impl Worker {
    /// Never called.
    pub fn calls(&self) -> Calls {
        match *self {}
    }

    /// Never called.
    pub fn static_request(&self) -> &[u8] {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn request(&mut self, _connection: Option<u32>) -> Result<&[u8], ScriptError> {
        match *self {}
    }

    /// Never called.
    pub fn refused(&self, _problem: &str) -> ScriptError {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn delay(&mut self, _connection: Option<u32>) -> Result<u64, ScriptError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn response<'a>(
        &mut self,
        _status: u16,
        _fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        _body: &[u8],
        _about: Option<About<'_>>,
    ) -> Result<(), ScriptError> {
        match *self {}
    }

    /// Never called.
    pub fn set_body_cut(&self, _is_cut: bool) {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn opened(&mut self, _connection: u32) -> Result<(), ScriptError> {
        match *self {}
    }

    /// Never called.
    pub fn is_stopped(&self) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn address(&self) -> Option<SocketAddr> {
        match *self {}
    }

    /// Never called.
    pub fn memory_bytes(&self) -> usize {
        match *self {}
    }
}
