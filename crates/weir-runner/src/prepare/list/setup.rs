//! The requests of a setup, prepared: they are sent before the load, and all users share the values
//! that they capture.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_engine::{SharedValues, UserPlan};
use weir_requests::expect::Expectations;
use weir_requests::list::Template;
use weir_requests::scenario::{CaptureRule, Setup, SiteOrigin};

use super::request::{Common, RowPlace};
use super::rows;
use crate::prepare::expect::ExpectationParser;

/// A setup, prepared.
#[derive(Clone, Debug)]
pub(crate) struct PreparedSetup {
    pub(crate) requests: Vec<SetupRequest>,
    /// Time after which it is made again, in nanoseconds; `None` for never.
    pub(crate) refresh_ns: Option<u64>,
    /// Values for the users.
    pub(crate) shared: Arc<SharedValues>,
    pub(crate) origin: SiteOrigin,
    /// Redirects that a request follows at most.
    pub(crate) redirects: u8,
    /// Seed of the random values of templates.
    pub(crate) seed: u64,
    /// First row of the table; empty without one.
    pub(crate) row: Vec<Box<[u8]>>,
}

/// A request of a setup.
#[derive(Clone, Debug)]
pub(crate) struct SetupRequest {
    pub(crate) name: String,
    pub(crate) template: Arc<Template>,
    /// True if its method is HEAD.
    pub(crate) is_head: bool,
    pub(crate) expectations: Arc<Expectations>,
    pub(crate) captures: Vec<CaptureRule>,
}

/// Prepares the setup of a list, whose rows have this place in messages, for its users; `None` if
/// there is none.
///
/// # Errors
/// When a request cannot be sent.
pub(super) fn prepare(
    setup: &Setup,
    place: &str,
    common: &Common,
    expectations: &ExpectationParser,
    users: &Option<Arc<UserPlan>>,
) -> Result<Option<Arc<PreparedSetup>>> {
    let Some(users) = users.as_ref().filter(|_| !setup.steps.is_empty()) else {
        return Ok(None);
    };
    let mut requests = Vec::new();
    for (row, captures) in &setup.steps {
        let at = |error: anyhow::Error| anyhow!("{}: {error:#}", rows::at(place, row.position));
        let marked = common.mark(row).map_err(at)?;
        let path = match common.place(&marked).map_err(at)? {
            RowPlace::Here(path) => path,
            RowPlace::Elsewhere(origin) => return Err(at(common.step_elsewhere(&origin))),
        };
        let request = common.request(marked, &path).map_err(at)?;
        let template = request.template.ok_or_else(|| at(anyhow!("it has no template")))?;
        requests.push(SetupRequest {
            name: row.name.clone().unwrap_or_default(),
            template,
            is_head: request.method == "HEAD",
            expectations: expectations.of_row(&row.expect).map_err(at)?,
            captures: captures.clone(),
        });
    }
    let table = common.templates.table.as_ref();
    Ok(Some(Arc::new(PreparedSetup {
        requests,
        refresh_ns: setup.refresh_ns,
        shared: Arc::clone(&users.shared),
        origin: users.origin.clone(),
        redirects: users.redirects,
        seed: common.spec.templates.seed,
        row: table.map(|rows| rows.table.row(0).to_vec()).unwrap_or_default(),
    })))
}
