//! A planned load without what its server decides. With the result of the preflight it becomes a
//! job, which nothing changes afterwards.

use std::ops::Deref;
use std::sync::Arc;

use weir_engine::{Job, ObserverFactory};
use weir_grpc::Method;
use weir_result::{HttpPlan, Plan};

use crate::prepare::grpc::GrpcCalls;
use crate::prepare::http;

/// Body size, in bytes, from which the kernel discards bodies unread.
const DISCARD_FROM_BYTES: u64 = 32 * 1024;

/// A job whose plan has no HTTP version if the server chooses it. Its TLS offers each version that
/// the plan allows.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) job: Job,
    /// Calls of gRPC that its requests are; `None` if they are others.
    pub(crate) calls: Option<GrpcCalls>,
    /// Message that is sent once on each WebSocket connection, before all others.
    pub(crate) first_message: Option<Arc<[u8]>>,
}

impl Deref for Draft {
    type Target = Job;

    fn deref(&self) -> &Job {
        &self.job
    }
}

impl Draft {
    /// True if a handshake has to show which HTTP version the server chooses, or that it accepts
    /// HTTP/2.
    pub(crate) fn is_open(&self) -> bool {
        let is_http1 = matches!(self.plan.http, Some(HttpPlan::Http10 | HttpPlan::Http11));
        self.tls.is_some() && !is_http1
    }

    /// Returns the method of its calls, if their schema is known.
    pub(crate) fn grpc_method(&self) -> Option<&Method> {
        self.calls.as_ref().and_then(GrpcCalls::method)
    }

    /// Returns the job for a server that chose `chosen`, where the plan has no HTTP version, and
    /// whose response has a body of `body_bytes`, if that is known. `observers` get each exchange
    /// of the load and of the probe.
    pub(crate) fn job(
        &self,
        chosen: Option<HttpPlan>,
        body_bytes: Option<u64>,
        observers: Vec<ObserverFactory>,
    ) -> Job {
        let http = self.plan.http.or(chosen);
        let plan = Plan { http, ..self.plan.clone() };
        Job {
            protocol: http::protocol(&plan, &self.request, self.first_message.as_ref()),
            plan,
            discard: body_bytes.is_some_and(|bytes| bytes >= DISCARD_FROM_BYTES),
            tls: self.tls.clone().map(|tls| tls.offering(http::alpn(http))),
            observers,
            ..self.job.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_http::Prepared;
    use weir_io::Endpoint;
    use weir_result::Http2Plan;

    use super::*;

    fn draft(http: Option<HttpPlan>) -> Draft {
        let plan = Plan { http, ..Plan::default() };
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
        let request = Prepared::http1("GET", "/", "h", &[], None).expect("a request");
        let job = Job::new(plan, endpoint, request);
        Draft { job, calls: None, first_message: None }
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
            let job = draft(planned).job(chosen, None, Vec::new());
            assert_eq!(job.plan.http, planned.or(chosen));
            assert_eq!((job.protocol.is_multiplexed(), job.plan.depth()), (depth > 1, depth));
        }
    }

    #[test]
    fn long_bodies_are_discarded_unread() {
        let discards =
            |body_bytes| draft(None).job(Some(HttpPlan::Http11), body_bytes, Vec::new()).discard;
        assert!(!discards(None) && !discards(Some(DISCARD_FROM_BYTES - 1)));
        assert!(discards(Some(DISCARD_FROM_BYTES)));
    }
}
