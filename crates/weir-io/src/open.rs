//! The registry of I/O engines: the only place where one is chosen.

use std::io;

use crate::uring::probe_uring;
use crate::{Backend, BackendOptions, Epoll, Uring};

/// An I/O engine of the real machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// io_uring(7).
    Uring,
    /// epoll(7).
    Epoll,
}

/// Code that runs on any backend. A trait rather than a closure, since each engine gets a copy of
/// the code with its calls inlined.
pub trait OnBackend {
    /// The result.
    type Output;

    /// Runs on `backend`.
    fn run<B: Backend>(self, backend: B) -> Self::Output;
}

/// Opens a backend of `engine` in the calling thread and runs `code` on it.
///
/// # Errors
/// If the engine does not work here, or the process is out of descriptors or memory.
pub fn open<C: OnBackend>(
    engine: Engine,
    options: BackendOptions,
    code: C,
) -> io::Result<C::Output> {
    Ok(match engine {
        Engine::Uring => code.run(Uring::new(options)?),
        Engine::Epoll => code.run(Epoll::new(options)?),
    })
}

impl Engine {
    /// Its name: `io_uring` or `epoll`.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Uring => "io_uring",
            Engine::Epoll => "epoll",
        }
    }

    /// Tries whether it works here.
    ///
    /// # Errors
    /// Why not.
    pub fn probe(self) -> io::Result<()> {
        match self {
            Engine::Uring => probe_uring(),
            Engine::Epoll => Ok(()),
        }
    }

    /// Returns io_uring if it works here, else epoll.
    pub fn best() -> Engine {
        if Engine::Uring.probe().is_ok() { Engine::Uring } else { Engine::Epoll }
    }
}
