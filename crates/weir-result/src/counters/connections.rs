//! Connections of a run, and outcomes by destination.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Outcomes;
use crate::absent::is_default;
use crate::connection_failure::ConnectionFailure;
use crate::failures::FailureKind;
use crate::rules;

counters! {
    /// Connections: requested, opened, renewed, failed.
    #[derive(Clone, Debug, Default)]
    measured Connections;
    /// Connections: requested, opened, renewed, failed.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored ConnectionsSection;

    /// Connections requested.
    counter requested: u64 => rules::sum;
    /// Of `requested`: open at t0.
    counter open_at_t0: u64 => rules::sum;
    /// Greatest number open at once; with several workers the sum of each one's greatest.
    counter open_max: u64 => rules::sum;
    /// Connections opened during the load, beyond `requested`, because no other had room; absent if
    /// there are none.
    counter grown: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Open at the end of the load; absent if the number of connections is fixed.
    counter open_at_end: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Neither open nor failed when the run ended: their connect, TLS handshake or upgrade was
    /// under way, and the server may count them; absent if there are none.
    counter opening_at_end: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Successful connects over the whole run: those of the load, renewals included, and those
    /// beside it.
    counter connects: u64 => rules::sum;
    /// Of `connects`: by the one-connection probe; absent if there are none.
    stored connects_probe: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `connects`: by the probe thread; absent if there are none.
    stored connects_witness: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `connects`: to measure the round trip under load, without a request; absent if there are
    /// none.
    stored connects_handshake: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// Connections that the peer closed, cleanly and outside a response.
    counter closed_by_peer: u64 => rules::sum;
    /// Connections that weir closed by plan, to renew them; absent if there are none.
    counter renewed: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Connections that came in the window by plan, because a stage has more; absent if there are
    /// none.
    counter joined: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Connections that weir closed by plan, because a stage has fewer; absent if there are none.
    counter left: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Connections of HTTP/2 or WebSocket whose end the server announced, by the name of the
    /// reason.
    measured goaways: BTreeMap<String, u64> => rules::counts;
    /// Connections of HTTP/2 whose end the server announced (GOAWAY), by the reason as in RFC 9113
    /// §7; of several, the last that is an error. Of WebSocket by the code of the server's Close
    /// frame with its name and up to 64 characters of its reason, `1001 Going Away: restart` or
    /// `4401 token expired`, of the first 32 per worker. They may be among `closed_by_peer` and
    /// `failures`. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    stored goaways: BTreeMap<String, u64>;
    /// Connections of HTTP/2 on which the server allowed no stream (`MAX_CONCURRENT_STREAMS` 0)
    /// when they ended, or at the end of the run; absent if there are none.
    counter without_streams: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Least limit of streams at once (`MAX_CONCURRENT_STREAMS`) that the server announced on a
    /// connection of HTTP/2, if the plan has more; absent otherwise.
    counter streams_allowed: u64 => rules::least,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Of `connects`: WebSocket connections whose server accepted permessage-deflate; absent if
    /// there are none.
    counter deflated: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Messages that servers sent on WebSocket connections by themselves, over the whole run: the
    /// echo of no message. Absent if there are none.
    counter pushed: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Of `pushed`: read inside the window; absent if there are none.
    counter pushed_in_window: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Bytes of the content of `pushed`.
    counter pushed_bytes: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Request bodies that waited for the server's flow-control windows, over the whole run; absent
    /// if there are none.
    counter window_waits: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Time until the rest of these bodies was sent, or their streams ended, summed over them, in
    /// nanoseconds. It is in their service times.
    counter window_wait_ns: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Connections that failed, by phase and cause.
    measured failures: BTreeMap<FailureKind, u64> => rules::counts;
    /// Connections that failed, attempts included, by phase and cause.
    stored failures: Vec<ConnectionFailure>;
    /// Time from the first worker's start until every connection was up or had failed once, in
    /// nanoseconds; of several parts the longest.
    stored setup_ns: u64, #[serde(default)];
    /// Of `connects`: up inside the window; absent if there are none.
    stored connects_in_window: u64, #[serde(default, skip_serializing_if = "is_default")];
    /// `connects_in_window` per second of the window.
    stored connects_per_second: f64, #[serde(default, skip_serializing_if = "is_default")];
    /// Outcomes of each destination's share, if there are several destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stored destinations: Vec<DestinationSection>;
}

counters! {
    /// Outcomes of one destination's share.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    measured DestinationCounts;
    /// Outcomes of one destination's share of the load.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored DestinationSection;

    /// Address: `1.2.3.4:80`, `[::1]:80`.
    stored address: String;
    /// Successful connects over the whole run, renewals included.
    counter connects: u64 => rules::sum;
    /// Connects that failed.
    counter connects_failed: u64 => rules::sum;
    /// Connections that failed after they were up.
    counter connections_failed: u64 => rules::sum;
    /// Measured requests that were sent, by outcome.
    counter outcomes: Outcomes => rules::merge;
}
