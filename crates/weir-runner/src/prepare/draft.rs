//! A planned load without what its server decides. With the result of the preflight it becomes a
//! job, which nothing changes afterwards.

use weir_engine::{Ending, Extras, Job, ObserverFactory};
use weir_http::{BodyBudget, Prepared};
use weir_io::Endpoint;
use weir_result::{HttpPlan, Plan};
use weir_tls::TlsConfig;

use crate::prepare::http;

/// Body size, in bytes, from which the kernel discards bodies unread.
const DISCARD_FROM_BYTES: u64 = 32 * 1024;

/// A planned load.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The plan, without credentials. Without an HTTP version if the server chooses it.
    pub(crate) plan: Plan,
    /// Address of the target; the first one if there are several.
    pub(crate) endpoint: Endpoint,
    /// Addresses over which the connections are partitioned; none for all to `endpoint`.
    pub(crate) destinations: Vec<Endpoint>,
    /// The request.
    pub(crate) request: Prepared,
    /// TLS, offering each HTTP version that the plan allows; `None` for plain text.
    pub(crate) tls: Option<TlsConfig>,
    /// CPUs to pin workers to.
    pub(crate) cpus: Vec<u32>,
    /// Memory for the bodies that scripts keep.
    pub(crate) body_budget: BodyBudget,
    /// Rules by which requests and the run end.
    pub(crate) ending: Ending,
    /// True if workers may busy-poll.
    pub(crate) may_poll: bool,
    /// Optional measurements.
    pub(crate) extras: Extras,
}

/// Choices of a server, as the preflight found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TargetFacts {
    /// HTTP version that the server chose; `None` where the plan has one.
    pub(crate) http: Option<HttpPlan>,
    /// Length of the response's body in bytes, if it is known.
    pub(crate) body_bytes: Option<u64>,
}

impl Draft {
    /// True if a handshake has to show which HTTP version the server chooses, or that it accepts
    /// HTTP/2.
    pub(crate) fn is_open(&self) -> bool {
        let is_http1 = matches!(self.plan.http, Some(HttpPlan::Http10 | HttpPlan::Http11));
        self.tls.is_some() && !is_http1
    }

    /// Returns the job for a target. `observers` get each exchange of the load and of the probe.
    pub(crate) fn job(&self, facts: TargetFacts, observers: Vec<ObserverFactory>) -> Job {
        let http = self.plan.http.or(facts.http);
        let plan = Plan { http, ..self.plan.clone() };
        Job {
            destinations: self.destinations.clone(),
            protocol: http::protocol(http),
            discard: facts.body_bytes.is_some_and(|bytes| bytes >= DISCARD_FROM_BYTES),
            cpus: self.cpus.clone(),
            tls: self.tls.clone().map(|tls| tls.offering(http::alpn(http))),
            body_budget: self.body_budget.clone(),
            ending: self.ending,
            may_poll: self.may_poll,
            extras: self.extras,
            observers,
            ..Job::new(plan, self.endpoint.clone(), self.request.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Http2Plan, Load};

    use super::*;

    fn draft(http: Option<HttpPlan>) -> Draft {
        Draft {
            plan: Plan { load: Load::ClosedLoop, http, ..Plan::default() },
            endpoint: Endpoint::Tcp(([127, 0, 0, 1], 1).into()),
            destinations: Vec::new(),
            request: Prepared::http1("GET", "/", "h", &[], None).expect("a request"),
            tls: None,
            cpus: Vec::new(),
            body_budget: BodyBudget::default(),
            ending: Ending::default(),
            may_poll: false,
            extras: Extras::default(),
        }
    }

    #[test]
    fn a_job_has_the_version_of_its_plan_or_of_its_server() {
        let http2 = HttpPlan::Http2(Http2Plan {
            streams: 9,
            window_bytes: 1 << 30,
            header_table_bytes: 4_096,
        });
        for (planned, chosen, depth) in [
            (Some(http2), None, 9),
            (None, Some(http2), 9),
            (None, Some(HttpPlan::Http11), 1),
            (Some(HttpPlan::Http11), Some(http2), 1),
        ] {
            let facts = TargetFacts { http: chosen, ..TargetFacts::default() };
            let job = draft(planned).job(facts, Vec::new());
            assert_eq!(job.plan.http, planned.or(chosen));
            assert_eq!((job.protocol.is_multiplexed(), job.plan.depth()), (depth > 1, depth));
        }
    }

    #[test]
    fn long_bodies_are_discarded_unread() {
        let discards = |body_bytes| {
            let facts = TargetFacts { http: Some(HttpPlan::Http11), body_bytes };
            draft(None).job(facts, Vec::new()).discard
        };
        assert!(!discards(None) && !discards(Some(DISCARD_FROM_BYTES - 1)));
        assert!(discards(Some(DISCARD_FROM_BYTES)));
    }
}
