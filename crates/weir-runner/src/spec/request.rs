//! The request of a run: method, header fields, credentials and body.

use serde::{Deserialize, Serialize};
use weir_result::Header;

use super::InputFile;

/// Request that is sent, unless a script makes others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Method; absent: GET, or POST with a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Header fields, in order. Host and Content-Length are added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// `USER:PASS` of basic authentication; without effect beside an Authorization field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<String>,
    /// Body; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodySpec>,
    /// Redirects that each request follows at most.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// A body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodySpec {
    /// The body itself.
    Text(String),
    /// A file with the body.
    File(InputFile),
    /// This many bytes: the letter x.
    Filler(u64),
    /// Fields of a form.
    Form(Vec<FormField>),
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormField {
    /// Name.
    pub name: String,
    /// Value.
    pub value: FormValue,
}

/// The value of a form's field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormValue {
    /// Text.
    Text(String),
    /// A file, which makes the form multipart/form-data.
    File(InputFile),
}
