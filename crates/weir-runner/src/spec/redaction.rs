//! Values that are never written: the user's choice of names, and credentials in other forms than
//! those in which the run uses them.

use serde::{Deserialize, Serialize};

/// Values that are written as `[redacted]`, besides credentials in headers that are known as such.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedactionSpec {
    /// True if every value is written as given.
    pub off: bool,
    /// Further headers and query parameters whose values are credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// `USER:PASS` of all flags; the last one is sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// User names and passwords of URLs, as they stood there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub userinfos: Vec<String>,
}
