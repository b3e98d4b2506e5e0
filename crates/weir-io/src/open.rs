//! The registry of I/O engines: the only place where one is chosen.

use std::error::Error;
use std::fmt;
use std::io;
use std::str::FromStr;

use crate::backend::{Backend, BackendOptions};
use crate::epoll::Epoll;
use crate::uring::Uring;
use crate::uring::probe_uring;

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

/// An engine in words, and what tells whether it works here.
#[derive(Debug)]
pub struct EngineInfo {
    /// The engine.
    pub engine: Engine,
    /// Its name in documents: `io_uring`, `epoll`.
    pub name: &'static str,
    /// The word by which users choose it: `uring`, `epoll`.
    pub word: &'static str,
    /// The meaning of the choice, for a help text.
    pub about: &'static str,
    probe: fn() -> io::Result<()>,
}

/// All engines, in the order in which users see them.
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo {
        engine: Engine::Uring,
        name: "io_uring",
        word: "uring",
        about: "io_uring, or fail",
        probe: probe_uring,
    },
    EngineInfo {
        engine: Engine::Epoll,
        name: "epoll",
        word: "epoll",
        about: "epoll",
        probe: || Ok(()),
    },
];

impl Engine {
    /// Its description.
    pub fn info(self) -> &'static EngineInfo {
        let found = ENGINES.iter().find(|info| info.engine == self);
        found.expect("every engine is in the list, as a test demands")
    }

    /// Its name: `io_uring` or `epoll`.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the engine of a name.
    pub fn named(name: &str) -> Option<Engine> {
        ENGINES.iter().find(|info| info.name == name).map(|info| info.engine)
    }

    /// Tries whether it works here.
    ///
    /// # Errors
    /// Why not.
    pub fn probe(self) -> io::Result<()> {
        (self.info().probe)()
    }

    /// Returns io_uring if it works here, else epoll.
    pub fn best() -> Engine {
        if Engine::Uring.probe().is_ok() { Engine::Uring } else { Engine::Epoll }
    }
}

/// A user's choice of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring where it works, else epoll.
    #[default]
    Auto,
    /// This one, or an error.
    Only(Engine),
}

impl EngineChoice {
    /// The word for [`EngineChoice::Auto`].
    pub const AUTO: &str = "auto";

    /// Its meaning, for a help text.
    pub const AUTO_ABOUT: &str = "io_uring where it works, else epoll";

    /// The words of all choices, as help shows them.
    pub const WORDS: &str = "auto|uring|epoll";

    /// Returns its name in specifications: the engine's name, or `auto`.
    pub fn name(self) -> &'static str {
        match self {
            EngineChoice::Auto => EngineChoice::AUTO,
            EngineChoice::Only(engine) => engine.name(),
        }
    }

    /// Returns the names of all choices.
    pub fn names() -> impl Iterator<Item = &'static str> {
        [EngineChoice::AUTO].into_iter().chain(ENGINES.iter().map(|info| info.name))
    }
}

/// A text that is neither a name nor a word of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, last) = EngineChoice::WORDS.rsplit_once('|').unwrap_or_default();
        let words = words.replace('|', ", ");
        write!(f, "`{}` is not an engine: choose {words} or {last}", self.0)
    }
}

impl Error for UnknownEngine {}

impl FromStr for EngineChoice {
    type Err = UnknownEngine;

    /// Parses a name or a word.
    fn from_str(text: &str) -> Result<EngineChoice, UnknownEngine> {
        if text == EngineChoice::AUTO {
            return Ok(EngineChoice::Auto);
        }
        let found = ENGINES.iter().find(|info| info.name == text || info.word == text);
        found
            .map(|info| EngineChoice::Only(info.engine))
            .ok_or_else(|| UnknownEngine(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_listed_and_chosen_by_its_name_and_word() {
        for engine in [Engine::Uring, Engine::Epoll] {
            let info = engine.info();
            assert_eq!(Engine::named(info.name), Some(engine));
            assert_eq!(info.name.parse(), Ok(EngineChoice::Only(engine)));
            assert_eq!(info.word.parse(), Ok(EngineChoice::Only(engine)));
        }
        assert_eq!("auto".parse(), Ok(EngineChoice::Auto));
        let error = "kqueue".parse::<EngineChoice>().expect_err("no such engine").to_string();
        assert_eq!(error, "`kqueue` is not an engine: choose auto, uring or epoll");
        let words = ENGINES.iter().map(|info| info.word);
        let words: Vec<&str> = [EngineChoice::AUTO].into_iter().chain(words).collect();
        assert_eq!(words.join("|"), EngineChoice::WORDS);
        assert!(EngineChoice::names().all(|name| name.parse::<EngineChoice>().is_ok()));
    }
}
