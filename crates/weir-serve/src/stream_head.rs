//! Heads of responses in HTTP/2: the fields that HTTP/1 writes as lines. This module makes no
//! decisions.

use std::sync::Arc;

use weir_io::Nanos;

use crate::behaviour::{Behaviour, Framing};
use crate::response::{Response, ResponseKind};
use crate::routes::Route;
use crate::stats::Shared;
use crate::units::push_decimal;

/// Names, in lower case, and values.
type FieldList = Vec<(Vec<u8>, Vec<u8>)>;

/// Makes the fields of responses.
#[derive(Debug)]
pub(crate) struct StreamHead {
    shared: Arc<Shared>,
    /// FieldList common to all responses without a route.
    fixed: FieldList,
    /// The same of counters and refusals.
    own: FieldList,
    /// The same of calls of gRPC.
    calls: FieldList,
    /// The same of each route.
    of_routes: Vec<FieldList>,
    length: Vec<u8>,
    received: Vec<u8>,
    sent: Vec<u8>,
}

impl StreamHead {
    pub(crate) fn new(shared: Arc<Shared>) -> StreamHead {
        let behaviour = &shared.behaviour;
        let fixed = fields(behaviour, None);
        let own = fields(&behaviour.without_events(), None);
        let calls = call_fields(behaviour);
        let of_routes = behaviour.routes.iter();
        let of_routes =
            of_routes.map(|prepared| fields(behaviour, Some(&prepared.route))).collect();
        let number = Vec::new;
        StreamHead {
            shared,
            fixed,
            own,
            calls,
            of_routes,
            length: number(),
            received: number(),
            sent: number(),
        }
    }

    /// Passes the fields of a response to `push`. `own_bytes` is the length of a body that is not
    /// filler, and `now` becomes the send time stamp.
    pub(crate) fn with_fields(
        &mut self,
        response: &Response,
        own_bytes: Option<u64>,
        now: Nanos,
        push: impl FnOnce(&[(&[u8], &[u8])]),
    ) {
        let StreamHead { shared, fixed, own, calls, of_routes, length, received, sent } = self;
        let of_shop = response.shop();
        let of_shop =
            of_shop.map(|reply| lower_case(shared.behaviour.fields_beside(&reply.fields)));
        let fixed = match (&of_shop, response.route) {
            (Some(of_shop), _) => of_shop,
            _ if response.call().is_some() => calls,
            (None, None) if response.kind == ResponseKind::Ordinary => fixed,
            (None, None) => own,
            (None, Some(routed)) => &of_routes[usize::from(routed.index)],
        };
        let write = |out: &mut Vec<u8>, number: u64| {
            out.clear();
            push_decimal(out, number);
        };
        write(length, own_bytes.unwrap_or(response.body_bytes));
        let mut fields: Vec<(&[u8], &[u8])> = Vec::with_capacity(fixed.len() + 4);
        // RFC 9110 §8.6: as in HTTP/1.
        if response.framing == Framing::Length && response.status != 204 {
            fields.push((b"content-length", length));
        }
        fields.extend(fixed.iter().map(|(name, value)| (&name[..], &value[..])));
        if shared.behaviour.stamps && response.kind == ResponseKind::Ordinary {
            write(received, shared.epoch_monotonic_ns + response.received_at.0);
            write(sent, shared.epoch_monotonic_ns + now.0);
            let slot = response.slot.as_bytes();
            if !slot.is_empty() {
                fields.push((b"x-slot", slot));
            }
            fields.push((b"x-srv-recv-ns", received));
            fields.push((b"x-srv-send-ns", sent));
        }
        push(&fields);
    }
}

/// Returns the fields of responses of a route, or of those without one.
fn fields(behaviour: &Behaviour, route: Option<&Route>) -> FieldList {
    lower_case(behaviour.fields(route))
}

/// Returns fields with their names in lower case.
fn lower_case(fields: Vec<(&str, &str)>) -> FieldList {
    let fields = fields.into_iter();
    fields.map(|(name, value)| (name.to_ascii_lowercase().into(), value.into())).collect()
}

/// Returns the fields of responses to calls of gRPC.
fn call_fields(behaviour: &Behaviour) -> FieldList {
    let mut fields = fields(&behaviour.without_events(), None);
    fields.retain(|(name, _)| name != b"content-type");
    fields.insert(0, (b"content-type".to_vec(), b"application/grpc".to_vec()));
    fields
}
