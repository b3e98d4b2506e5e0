//! The URL of the requests of a run.

use anyhow::Result;

use crate::prepare::grpc;
use crate::prepare::list::List;
use crate::spec::url::Url;
use crate::spec::{RunSpec, TargetSpec};

/// Returns the URL of the specification, or of a list's first request; calls of gRPC have their own
/// path.
///
/// # Errors
/// When it is none.
pub(crate) fn target_url(spec: &RunSpec, list: Option<&List>) -> Result<Url> {
    let Some(list) = list else { return grpc::url_on(spec, Url::of(&spec.target)?) };
    let url = match spec.target.url.is_empty() {
        true => list.first_url()?.to_owned(),
        false => spec.target.url.clone(),
    };
    let url = Url::of(&TargetSpec { url, ..spec.target.clone() })?;
    if url.is_websocket {
        return Ok(url);
    }
    // The rows have the paths.
    grpc::url_on(spec, Url { path: "/".to_owned(), ..url })
}
