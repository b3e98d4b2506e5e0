//! Properties of a request that its response depends on. Independent of its bytes.

/// Properties of a request that affect parsing of its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTraits {
    /// True for HEAD: the response has no body, regardless of its fields (RFC 9110 §9.3.2).
    pub head: bool,
    /// True if it has `Connection: close`: nothing may be sent after it (RFC 9112 §9.6).
    pub closes: bool,
}
