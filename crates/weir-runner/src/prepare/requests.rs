//! The requests of a run: a script's, those of a list, or one from the command line.

use anyhow::{Result, anyhow, bail};
use weir_http::{Prepared, RequestError};
use weir_result::document::{Input, InputRole};
use weir_result::{Closer, Header, RequestPlan};
use weir_text::Setting;
use weir_text::setting::{BODY, HEADER, HTTP, METHOD, URL};

use crate::prepare::body::{Body, REQUEST_MAX_BYTES};
use crate::prepare::expect::{ExpectationParser, PreparedChecks};
use crate::prepare::form;
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::list::{List, PreparedList};
use crate::prepare::script::Scripts;
use crate::prepare::websocket;
use crate::spec::url::Url;
use crate::spec::{BodySpec, HttpChoice, RunSpec, credentials};

/// The requests of a run.
#[derive(Debug)]
pub(crate) struct RequestSet {
    /// Method of `request`.
    method: String,
    /// The request that is sent each time; of a list or a script the one that is sent before the
    /// load.
    pub(crate) request: Prepared,
    /// Length of its body in bytes; 0 if requests may have different ones.
    body_bytes: u64,
    /// The list, if there is one.
    pub(crate) list: Option<PreparedList>,
    /// Expectations of the responses, if there are any.
    pub(crate) checks: Option<PreparedChecks>,
}

impl RequestSet {
    /// Prepares the requests of a specification, and adds the files that they were read from to
    /// `inputs`. A script is set up for `threads` threads.
    ///
    /// # Errors
    /// When a request cannot be sent, or a file cannot be read.
    pub(crate) fn of(
        spec: &RunSpec,
        url: &Url,
        (headers, calls): (&[(String, String)], Option<&GrpcCalls>),
        list: Option<&List>,
        scripts: Option<&mut Scripts>,
        threads: u32,
        inputs: &mut Vec<Input>,
    ) -> Result<RequestSet> {
        let body = spec.request.body.as_ref().map(Body::of).transpose()?;
        let expectations = ExpectationParser::new(&spec.expect, calls)?;
        if let Some(scripts) = scripts {
            let (method, request) = scripts.set_up(url, threads)?;
            let bytes = request.request("http").body().len() as u64;
            let body_bytes = if scripts.makes_requests { 0 } else { bytes };
            let checks = expectations.finish(None, 0);
            return Ok(RequestSet { method, request, body_bytes, list: None, checks });
        }
        if let Some(list) = list {
            let body = body.map(|body| content(spec, &body, inputs)).transpose()?;
            let list = list.prepare(spec, url, (headers, calls), body.as_deref(), expectations)?;
            inputs.extend(list.inputs.iter().cloned());
            let (method, request) = list.first.clone();
            let checks = list.checks.clone();
            return Ok(RequestSet { method, request, body_bytes: 0, list: Some(list), checks });
        }
        let body = match calls {
            None => body,
            Some(calls) => {
                let content = body.map(|body| content(spec, &body, inputs)).transpose()?;
                Some(Body::Bytes(calls.body(content.as_deref())?))
            }
        };
        let (method, request) = request(spec, url, headers, body.as_ref(), inputs)?;
        let body_bytes = body.map_or(0, |body| body.len() as u64);
        let checks = expectations.finish(None, 0);
        Ok(RequestSet { method, request, body_bytes, list: None, checks })
    }

    /// Returns the request of the plan, whose header fields are `headers`.
    pub(crate) fn plan(&self, headers: Vec<(String, String)>) -> RequestPlan {
        RequestPlan {
            method: self.method.clone(),
            headers: headers.into_iter().map(|(name, value)| Header { name, value }).collect(),
            body_bytes: self.body_bytes,
            wire_bytes: self.request.bytes().len() as u64,
        }
    }
}

/// The header fields that the user gives, and those for basic authentication and for the server to
/// close.
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

/// Fills `room`, which is as long as the body, and adds its file to `inputs`.
fn fill(spec: &RunSpec, body: &Body, room: &mut [u8], inputs: &mut Vec<Input>) -> Result<()> {
    body.fill(room)?;
    if let Body::Form(_, files) = body {
        inputs.extend(files.iter().cloned());
    }
    if let Some(BodySpec::File(file)) = &spec.request.body {
        inputs.push(file.verify(InputRole::Body, room)?);
    }
    Ok(())
}

/// Returns the body of a list's requests that have none of their own.
fn content(spec: &RunSpec, body: &Body, inputs: &mut Vec<Input>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; body.len()];
    fill(spec, body, &mut bytes, inputs)?;
    Ok(bytes)
}

/// Returns the method and the request of the command line.
fn request(
    spec: &RunSpec,
    url: &Url,
    headers: &[(String, String)],
    body: Option<&Body>,
    inputs: &mut Vec<Input>,
) -> Result<(String, Prepared)> {
    let method = match (&spec.request.method, body) {
        (Some(method), _) => method.clone(),
        (None, Some(_)) if !url.is_websocket => "POST".to_owned(),
        (None, _) => "GET".to_owned(),
    };
    let host = url.authority();
    let body_bytes = body.map(Body::len);
    let mut filled = Ok(());
    let fill = |room: &mut [u8]| {
        filled = match (body, &spec.grpc) {
            (None, _) => Ok(()),
            (Some(body), None) => fill(spec, body, room, inputs),
            // It is made of content that was read.
            (Some(body), Some(_)) => body.fill(room),
        };
    };
    let request = Prepared::http1_filled(&method, &url.path, &host, headers, body_bytes, fill)
        .map_err(|error| anyhow!("{}: {error}", setting_of(&error)))?;
    filled?;
    if url.is_websocket {
        websocket::check_message(&spec.websocket, request.request(url.scheme()).body())?;
    }
    if request.bytes().len() as u64 > REQUEST_MAX_BYTES {
        bail!("the request is larger than 1 GiB: send a smaller {BODY}");
    }
    let request = match spec.http.version {
        HttpChoice::Http10 => request.http10().map_err(|error| anyhow!("{HTTP} 1.0: {error}"))?,
        _ => request,
    };
    Ok((method, request))
}

/// The setting that makes a request impossible.
fn setting_of(error: &RequestError) -> Setting {
    match error {
        RequestError::BadMethod(_) | RequestError::Connect => METHOD,
        RequestError::BadTarget(_) | RequestError::BadHost(_) => URL,
        RequestError::BadHeaderName(_)
        | RequestError::BadHeaderValue(_)
        | RequestError::RepeatedHeader(_)
        | RequestError::WrongContentLength { .. }
        | RequestError::BadTransferEncoding(_)
        | RequestError::ChunkedInHttp10 => HEADER,
    }
}
