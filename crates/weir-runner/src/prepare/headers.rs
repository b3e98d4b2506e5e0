//! The header fields of the requests of a run that are not of one request alone.

use weir_result::Closer;

use crate::prepare::form;
use crate::spec::{BodySpec, RunSpec, credentials};

/// Returns the header fields that the user gives, and those for basic authentication, for a form
/// and for the server to close.
pub(crate) fn headers(spec: &RunSpec) -> Vec<(String, String)> {
    let given = spec.request.headers.iter();
    let mut headers: Vec<(String, String)> =
        given.map(|header| (header.name.clone(), header.value.clone())).collect();
    let has = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let is_authorized = has("authorization");
    let is_given = has("connection");
    let has_type = has("content-type");
    if let Some(user) = spec.request.basic_auth.as_ref().filter(|_| !is_authorized) {
        headers.push(("Authorization".to_owned(), credentials::basic(user)));
    }
    if let Some(BodySpec::Form(fields)) = &spec.request.body
        && !has_type
    {
        headers.push(("Content-Type".to_owned(), form::content_type(fields)));
    }
    if spec.connection.close == Some(Closer::Server) && !is_given {
        headers.push(("Connection".to_owned(), "close".to_owned()));
    }
    headers
}
