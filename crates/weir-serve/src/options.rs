//! Options of the server: plain data whose fields are flags of `weir serve`, one to one, and the
//! check for consistency.

use weir_io::{Endpoint, EngineChoice};

use crate::behaviour::{Behaviour, Mode, OptionsError};
use crate::tls::TlsConfig;

/// Addresses, threads and backend of the server, and its behaviour.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Addresses to listen on, at least one; TCP port 0 picks a free port, which
    /// [`Handle::endpoints`](crate::Handle::endpoints) reports.
    pub listen: Vec<Endpoint>,
    /// Worker threads, 1 to 1024. Each has its own listening socket (`SO_REUSEPORT`), and the
    /// kernel distributes connections by a hash: with few connections the shares are uneven.
    pub threads: usize,
    /// The I/O backend.
    pub engine: EngineChoice,
    /// True to bind worker k to the k-th CPU that this process may use.
    pub pin: bool,
    /// True to never sleep: responses leave sooner and with less jitter, at the cost of one CPU per
    /// worker.
    pub spin: bool,
    /// Expected connections per worker, 1 to 1,000,000.
    pub connections: usize,
    /// `--tls`: TLS on every connection; `None` for none.
    pub tls: Option<TlsConfig>,
    /// Behaviour towards requests.
    pub behaviour: Behaviour,
}

impl Default for ServeOptions {
    /// Returns one thread on a free port of the loopback address, with plain responses.
    fn default() -> ServeOptions {
        ServeOptions {
            listen: vec![Endpoint::Tcp(([127, 0, 0, 1], 0).into())],
            threads: 1,
            engine: EngineChoice::Auto,
            pin: false,
            spin: false,
            connections: 16_384,
            tls: None,
            behaviour: Behaviour::default(),
        }
    }
}

impl ServeOptions {
    /// Checks ranges and combinations, which the parsers cannot check.
    ///
    /// # Errors
    /// The first inconsistency, with its remedy.
    pub fn check(&self) -> Result<(), OptionsError> {
        let is_unix = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Unix(_));
        let problem = if self.listen.is_empty() {
            "there is no address to listen on: give one, such as 127.0.0.1:8080"
        } else if !(1..=1024).contains(&self.threads) {
            "the number of threads must be 1 to 1024"
        } else if !(1..=1_000_000).contains(&self.connections) {
            "the number of connections must be 1 to 1000000"
        } else if self.behaviour.mode == Mode::Fifo && self.threads > 1 {
            "--mode fifo is one worker by definition: use --threads 1, or --mode concurrent"
        } else if self.listen.iter().any(is_unix) && self.threads > 1 {
            "a unix socket cannot be shared by several threads: use one thread"
        } else {
            return self.behaviour.check();
        };
        Err(OptionsError(problem.to_owned()))
    }
}
