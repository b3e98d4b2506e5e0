//! The server of a load: its URL, and the addresses to connect to.

use std::time::Instant;

use anyhow::{Context, Result};
use weir_io::Endpoint;
use weir_result::{HttpPlan, Note};
use weir_tls::TlsConfig;

use crate::access::MachineAccess;
use crate::observer::Observer;
use crate::prepare::location::is_local;
use crate::prepare::planned::Planned;
use crate::prepare::script::Scripts;
use crate::prepare::server_wait::ServerWait;
use crate::prepare::{addresses, connections, reach};
use crate::spec::RunSpec;
use crate::spec::url::Url;

/// The server of a load, as far as it is known before a connection is open.
#[derive(Debug)]
pub(crate) struct PlannedServer {
    /// URL of the requests. The rows of a list have paths of their own.
    pub(crate) url: Url,
    /// HTTP version; `None` if the server is to choose it.
    pub(crate) http: Option<HttpPlan>,
    /// TLS that offers each of these versions; `None` for plain text.
    pub(crate) tls: Option<TlsConfig>,
    /// Where it is.
    pub(crate) addresses: ServerAddresses,
}

/// The addresses of a server.
#[derive(Debug)]
pub(crate) struct ServerAddresses {
    /// The first one.
    pub(crate) endpoint: Endpoint,
    /// All, if the connections are partitioned over them; else empty.
    pub(crate) destinations: Vec<Endpoint>,
    /// Time in which the name was resolved, in nanoseconds; `None` for an address.
    pub(crate) lookup_ns: Option<u64>,
}

impl ServerAddresses {
    /// Returns the one address of a server.
    pub(crate) fn one(endpoint: Endpoint) -> ServerAddresses {
        ServerAddresses { endpoint, destinations: Vec::new(), lookup_ns: None }
    }

    /// Returns the addresses of a server, over which the connections are partitioned if there are
    /// several, or one `is_named` by the specification.
    ///
    /// # Errors
    /// When there is none.
    fn of(all: Vec<Endpoint>, is_named: bool) -> Result<ServerAddresses> {
        let first = all.first().context("the host of the URL has no address")?.clone();
        let destinations = if all.len() > 1 || is_named { all } else { Vec::new() };
        Ok(ServerAddresses { destinations, ..ServerAddresses::one(first) })
    }

    /// All addresses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Endpoint> {
        self.destinations.iter().chain([&self.endpoint])
    }

    /// True if one of them is of this machine, so that the server needs a share of its CPUs.
    pub(crate) fn are_here(&self) -> bool {
        self.iter().any(|address| is_local(address) == Some(true))
    }
}

/// Finds the addresses of the server of `url`: those that the specification names, that of the
/// script, or those of the host that accept a connection. Agents elsewhere find their own.
///
/// # Errors
/// When there is none.
pub(crate) fn find(
    spec: &RunSpec,
    url: &Url,
    scripts: Option<&mut Scripts>,
    access: &MachineAccess,
    observer: &mut dyn Observer,
) -> Result<Planned<ServerAddresses>> {
    let named = &spec.connection.destinations;
    if !named.is_empty() && !access.is_elsewhere() {
        let all = connections::destinations(named, url, spec.target.family)?;
        return Ok(Planned::of(ServerAddresses::of(all, true)?));
    }
    let one = |endpoint| Ok(Planned::of(ServerAddresses::one(endpoint)));
    if let Some(scripts) = scripts.filter(|_| spec.target.unix.is_none()) {
        let address = scripts.resolve()?;
        return one(match spec.compat {
            Some(_) => reach::first_of(url, [address])?,
            None => Endpoint::Tcp(address),
        });
    }
    if spec.compat.is_some() {
        return one(reach::reach(url)?);
    }
    if access.is_elsewhere() {
        return one(url.address_elsewhere(spec.target.unix.as_deref()));
    }
    resolve(spec, url, access, observer)
}

/// Resolves the host of the URL, and chooses among its addresses.
fn resolve(
    spec: &RunSpec,
    url: &Url,
    access: &MachineAccess,
    observer: &mut dyn Observer,
) -> Result<Planned<ServerAddresses>> {
    let wait = ServerWait::new(&spec.target);
    let mut lookup_ns = None;
    let found = wait.retry(
        || {
            let begun = Instant::now();
            let found = url.resolve(spec.target.unix.as_deref());
            lookup_ns = url.has_name().then(|| begun.elapsed().as_nanos() as u64);
            found
        },
        observer,
    );
    let all = found.map_err(|failure| wait.give_up(failure, "check the name"))?;
    let all = addresses::of_family(&url.host, all, spec.target.family)?;
    let all = access.permitted(all)?;
    let (taken, others) = addresses::choose(&url.host, all, spec.load.connections.count());
    let addresses = ServerAddresses { lookup_ns, ..ServerAddresses::of(taken, false)? };
    let notes: Vec<Note> = others.into_iter().collect();
    Ok(Planned::noted(addresses, notes))
}
