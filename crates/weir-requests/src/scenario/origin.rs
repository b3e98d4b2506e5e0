//! The origin of a load: the server that sets cookies and gets them, and within which redirects are
//! followed.

/// An origin (RFC 6454).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOrigin {
    /// Host in lower case, of an IPv6 address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// True if connections use TLS.
    pub is_secure: bool,
}
