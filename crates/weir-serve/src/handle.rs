//! A running server: opens the sockets, starts the workers, and stops them. The only part of this
//! crate that chooses a real backend.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use weir_io::{
    Backend, BackendOptions, Clock, Endpoint, Engine, EngineChoice, ListenOptions, Listener,
    OnBackend, WaitPolicy, Waker,
};
use weir_machine::sys;

use crate::behaviour::OptionsError;
use crate::options::ServeOptions;
use crate::server::Server;
use crate::stats::{Shared, Stats};
use crate::tls::{ServerConfig, secure};

/// Error on starting or stopping the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The options are inconsistent.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The server cannot listen on an address.
    #[error("cannot listen on {endpoint} (is another server there? port 0 takes a free one)")]
    Listen {
        /// The address.
        endpoint: Endpoint,
        /// Error from the kernel.
        source: io::Error,
    },
    /// An I/O backend or a thread could not be created, or failed.
    #[error("a worker of the server cannot run")]
    Worker(#[from] io::Error),
}

/// A server that runs on threads of this process. Dropping it stops it.
#[derive(Debug)]
pub struct Handle {
    endpoints: Vec<Endpoint>,
    engine: &'static str,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    waker: Waker,
    workers: Vec<JoinHandle<io::Result<()>>>,
    /// Each worker's listeners, shut down at the end.
    listeners: Vec<Arc<Vec<Listener>>>,
}

/// Starts a server. When this returns, its sockets listen: an immediate connection is accepted.
///
/// # Errors
/// The options are inconsistent, the server cannot listen on an address, or the threads or their
/// backends cannot be created.
pub fn spawn(options: ServeOptions) -> Result<Handle, ServeError> {
    options.check()?;
    let clock = Clock::start();
    let waker = Waker::new()?;
    let (endpoints, listeners) = listen(&options)?;
    let machine = BackendOptions {
        clock,
        connections: u32::try_from(options.connections).expect("checked: at most a million"),
        backends: u32::try_from(options.threads).expect("checked: at most 1024"),
        waker: Some(waker.clone()),
    };
    let engine = match options.engine {
        EngineChoice::Auto => Engine::best(),
        EngineChoice::Only(engine) => engine.probe().map(|()| engine)?,
    };
    let version = options.behaviour.version();
    let tls = options.tls.as_ref().map(|tls| tls.offering(version));
    let epoch_ns = clock.epoch_monotonic_ns();
    let behaviour = options.behaviour.clone();
    let shared = Shared::with_tls(behaviour, epoch_ns, options.threads, tls.is_some());
    let policy = if options.spin { WaitPolicy::Spin } else { WaitPolicy::Hybrid };
    let cpus = if options.pin { sys::usable_cpus()? } else { Vec::new() };
    let mut handle = Handle {
        endpoints,
        engine: engine.name(),
        shared,
        stop: Arc::default(),
        waker,
        workers: Vec::new(),
        listeners: Vec::new(),
    };
    for (worker, listeners) in listeners.into_iter().enumerate() {
        let cpu = (!cpus.is_empty()).then(|| cpus[worker % cpus.len()]);
        let machine = machine.clone();
        let tls = tls.clone();
        let shared = handle.shared.clone();
        let stop = handle.stop.clone();
        let waker = handle.waker.as_raw_fd();
        let originals = Arc::new(listeners);
        // Kept here too, so that the descriptor numbers stay valid until the worker has its own.
        handle.listeners.push(Arc::clone(&originals));
        let thread = std::thread::Builder::new().name(format!("weir-serve-{worker}"));
        // If a later worker fails, dropping the handle stops the earlier ones.
        handle.workers.push(thread.spawn(move || {
            let listeners = own_listeners(&originals, waker)?;
            // The default timer slack of 50 µs would delay every response.
            sys::set_timer_slack(1)?;
            if let Some(cpu) = cpu {
                sys::pin_to_cpu(cpu)?;
            }
            let serving = Serving { shared, worker, policy, tls, listeners, stop: &stop };
            weir_io::open(engine, machine, serving)?
        })?);
    }
    Ok(handle)
}

/// Returns the listeners of each worker. The first worker's bind, so the others share its ports.
fn listen(options: &ServeOptions) -> Result<(Vec<Endpoint>, Vec<Vec<Listener>>), ServeError> {
    let how = ListenOptions { reuse_port: options.threads > 1 };
    let bind = |endpoint: &Endpoint| {
        let listener = Listener::bind(endpoint, how);
        listener.map_err(|source| ServeError::Listen { endpoint: endpoint.clone(), source })
    };
    let first = options.listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let endpoints =
        first.iter().map(Listener::local_endpoint).collect::<io::Result<Vec<Endpoint>>>()?;
    let mut listeners = vec![first];
    for _ in 1..options.threads {
        listeners.push(endpoints.iter().map(bind).collect::<Result<Vec<_>, _>>()?);
    }
    Ok((endpoints, listeners))
}

/// Gives the calling thread its own descriptor table, with its own handles on the listeners. Each
/// worker may then have as many connections as the process may have descriptors.
fn own_listeners(originals: &[Listener], waker: RawFd) -> io::Result<Vec<Listener>> {
    let kept: Vec<RawFd> = originals.iter().map(AsRawFd::as_raw_fd).chain([waker]).collect();
    // If the table stays shared, fewer connections are possible.
    let _shared = sys::own_descriptors(&kept);
    originals.iter().map(Listener::try_clone).collect()
}

/// The work of one worker, for whatever backend it gets.
struct Serving<'a> {
    shared: Arc<Shared>,
    worker: usize,
    policy: WaitPolicy,
    tls: Option<Arc<ServerConfig>>,
    listeners: Vec<Listener>,
    stop: &'a AtomicBool,
}

impl OnBackend for Serving<'_> {
    type Output = io::Result<()>;

    fn run<B: Backend>(mut self, backend: B) -> io::Result<()> {
        match self.tls.take() {
            None => self.serve(backend),
            Some(config) => {
                let shared = Arc::clone(&self.shared);
                let secure = secure(backend, config, shared, self.worker);
                self.serve(secure)
            }
        }
    }
}

impl Serving<'_> {
    fn serve<B: Backend>(self, backend: B) -> io::Result<()> {
        let mut server = Server::new(backend, self.shared, self.worker, self.policy);
        for listener in self.listeners {
            server.listen(listener)?;
        }
        server.run(self.stop)
    }
}

impl Handle {
    /// Returns the addresses in the order of [`ServeOptions::listen`], with the ports bound.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns the first of [`Handle::endpoints`].
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoints[0]
    }

    /// Returns the name of the backend: `io_uring` or `epoll`.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// Returns the current counters.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Returns the reasons for which TLS ended connections, each once, in the order of their first
    /// occurrence and without the first `known` ones. At most 64 different reasons are kept.
    pub fn tls_errors(&self, known: usize) -> Vec<String> {
        self.shared.tls_errors(known)
    }

    /// True if a worker has ended. Before [`Handle::stop`], only a failed backend ends one.
    pub fn has_failed(&self) -> bool {
        self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Stops the workers, closes all connections, and returns the final counters.
    ///
    /// # Errors
    /// A worker's backend had failed.
    pub fn stop(mut self) -> Result<Stats, ServeError> {
        let ended = self.end();
        let mut stats = self.shared.stats();
        self.shared.move_arrivals(&mut stats);
        ended.map(|()| stats).map_err(ServeError::Worker)
    }

    fn end(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        let mut result = Ok(());
        for worker in self.workers.drain(..) {
            let ended = worker.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
            result = result.and(ended);
        }
        // A worker's own handles, and its ring's, may close some time after it has been joined.
        for listener in self.listeners.drain(..) {
            result = result.and(listener.iter().try_for_each(Listener::shut));
        }
        result
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A failure cannot be reported from here.
        let _ = self.end();
    }
}
