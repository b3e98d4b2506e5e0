//! The reference server within this process: for what its `Behaviour` can describe.

use weir_io::{Endpoint, Engine, EngineChoice};
use weir_serve::{Behaviour, Handle, ServeOptions, Stats};

/// A server that runs until it is dropped or stopped.
#[derive(Debug)]
pub(crate) struct Served(Handle);

impl Served {
    /// Starts a server that responds at once, without any special behaviour.
    pub(crate) fn plainly() -> Served {
        Served::with(|_| {})
    }

    /// Starts a server on a free port of the loopback address, with a behaviour that `change`
    /// adapts.
    pub(crate) fn with(change: impl FnOnce(&mut Behaviour)) -> Served {
        Served::at(Endpoint::Tcp(([127, 0, 0, 1], 0).into()), change)
    }

    pub(crate) fn at(endpoint: Endpoint, change: impl FnOnce(&mut Behaviour)) -> Served {
        let mut options = ServeOptions {
            listen: vec![endpoint],
            engine: EngineChoice::Only(Engine::Epoll),
            ..Default::default()
        };
        change(&mut options.behaviour);
        Served(weir_serve::spawn(options).expect("the server starts"))
    }

    pub(crate) fn url(&self) -> String {
        match self.0.endpoint() {
            Endpoint::Tcp(address) => format!("http://{address}/"),
            Endpoint::Unix(_) => "http://localhost/".to_owned(),
        }
    }

    /// Number of requests until now.
    pub(crate) fn requests(&self) -> u64 {
        self.0.stats().requests.received
    }

    /// Counters until now.
    pub(crate) fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Ends it, and returns its counters.
    pub(crate) fn stop(self) -> Stats {
        self.0.stop().expect("its workers end well")
    }
}
