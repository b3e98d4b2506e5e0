//! The expectations of a run: they are parsed before anything is sent.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use weir_engine::{CallChecks, ResponseChecks};
use weir_http::{BodyBudget, Interest};
use weir_requests::expect::{ExpectError, Expectation, Expectations};
use weir_result::ExpectPlan;
use weir_text::setting::{EXPECT, GRPC_PROTO};

use crate::prepare::grpc::GrpcCalls;
use crate::spec::{ExpectSpec, RunSpec};

/// Memory for the bodies of all connections, in bytes, unless one body may be larger.
const BODIES_BYTES: usize = 256 << 20;

/// The expectations of the command line, and those of a list's rows.
#[derive(Debug)]
pub(crate) struct ExpectationParser {
    spec: ExpectSpec,
    common: Vec<Expectation>,
    /// The common expectations alone.
    shared: Arc<Expectations>,
    /// Expectations of each row so far.
    rows: Vec<Arc<Expectations>>,
    /// Checks of messages, if the requests are calls of gRPC.
    calls: Option<CallChecks>,
    /// True if expectations can read JSON: calls need a schema.
    has_json: bool,
    /// Rows with expectations of their own.
    own: u64,
    /// True if responses are checked without expectations too: users capture their values.
    is_always: bool,
}

/// The expectations of a run.
#[derive(Clone, Debug)]
pub(crate) struct PreparedChecks {
    pub(crate) checks: Arc<ResponseChecks>,
    pub(crate) plan: ExpectPlan,
}

impl ExpectationParser {
    /// Parses the expectations of the command line, for responses to `calls` if the requests are
    /// of gRPC. Their status is OK unless they have another one.
    ///
    /// # Errors
    /// When one is none, or two contradict each other.
    pub(crate) fn new(spec: &ExpectSpec, calls: Option<&GrpcCalls>) -> Result<ExpectationParser> {
        let failed = |error: ExpectError| anyhow!("{EXPECT}: {error}");
        let mut common = parsed(&spec.all).map_err(failed)?;
        let has_json = calls.is_none_or(|calls| calls.method().is_some());
        check_json(&common, has_json)?;
        if calls.is_some() && !common.iter().any(Expectation::is_of_grpc) {
            common.extend("grpc-status=0".parse::<Expectation>());
        }
        let shared = Arc::new(Expectations::new(&common, &[]).map_err(failed)?);
        let decoded_max = usize::try_from(spec.body_max_bytes).unwrap_or(usize::MAX);
        let calls = calls.map(|calls| calls.checks(decoded_max));
        let spec = spec.clone();
        let rows = Vec::new();
        let own = 0;
        let is_always = false;
        Ok(ExpectationParser { spec, common, shared, rows, calls, has_json, own, is_always })
    }

    /// Adds the next row of a list, with these expectations of its own.
    ///
    /// # Errors
    /// When one is none, or two contradict each other.
    pub(crate) fn add_row(&mut self, own: &[String]) -> Result<()> {
        self.rows.push(self.of_row(own)?);
        self.own += u64::from(!own.is_empty());
        Ok(())
    }

    /// Returns the expectations of a request with these of its own.
    ///
    /// # Errors
    /// As [`ExpectationParser::add_row`].
    pub(crate) fn of_row(&self, own: &[String]) -> Result<Arc<Expectations>> {
        if own.is_empty() {
            return Ok(Arc::clone(&self.shared));
        }
        let failed = |error: ExpectError| anyhow!("its `expect`: {error}");
        let own = parsed(own).map_err(failed)?;
        check_json(&own, self.has_json)?;
        Ok(Arc::new(Expectations::new(&self.common, &own).map_err(failed)?))
    }

    /// Has responses checked without expectations too.
    pub(crate) fn expect_always(&mut self) {
        self.is_always = true;
    }

    /// Returns the expectations of a run; `None` if there are none. `names` is the number of names
    /// of its list, and `first` the index of the row that is sent before the load.
    pub(crate) fn finish(self, names: Option<u16>, first: u16) -> Option<PreparedChecks> {
        if self.common.is_empty() && self.own == 0 && !self.is_always {
            return None;
        }
        let body_max = usize::try_from(self.spec.body_max_bytes).unwrap_or(usize::MAX);
        let checks = match names {
            // The rows of a long list have no expectations of their own.
            Some(names) if self.rows.is_empty() => {
                ResponseChecks::of_rows(vec![self.shared], names, 0, body_max)
            }
            Some(names) => ResponseChecks::of_rows(self.rows, names, first, body_max),
            None => ResponseChecks::of_all(self.shared, body_max),
        };
        let checks = checks.with_calls(self.calls);
        let reads_bodies = checks.interest() == Interest::Body;
        let plan = ExpectPlan {
            all: self.common.iter().map(ToString::to_string).collect(),
            rows: self.own,
            body_max_bytes: reads_bodies.then_some(self.spec.body_max_bytes),
        };
        Some(PreparedChecks { checks: Arc::new(checks), plan })
    }
}

/// Checks that expectations of JSON have some to read.
fn check_json(expectations: &[Expectation], has_json: bool) -> Result<()> {
    match expectations.iter().find(|one| one.reads_json()) {
        Some(one) if !has_json => {
            bail!("{EXPECT} {one} reads messages, which needs a schema: give {GRPC_PROTO}")
        }
        _ => Ok(()),
    }
}

fn parsed(texts: &[String]) -> Result<Vec<Expectation>, ExpectError> {
    texts.iter().map(|text| text.parse()).collect()
}

/// Returns the memory for the bodies that a script or the expectations read.
pub(crate) fn body_budget(spec: &RunSpec, expects: bool) -> BodyBudget {
    let limit = usize::try_from(spec.expect.body_max_bytes).unwrap_or(usize::MAX);
    // A coding may lengthen what it cannot shorten, by less than this.
    let kept = limit.saturating_add(limit / 64).saturating_add(1_024);
    match &spec.script {
        Some(script) => {
            let bytes = usize::try_from(script.memory_bytes).unwrap_or(usize::MAX);
            BodyBudget::new(bytes)
        }
        None if expects => BodyBudget::of_bodies(BODIES_BYTES.max(kept), kept),
        None => BodyBudget::default(),
    }
}
