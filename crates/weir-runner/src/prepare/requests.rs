//! The requests of a run: a script's, those of a list, or one from the command line.

use anyhow::{Result, anyhow, bail};
use weir_http::{Prepared, RequestError};
use weir_result::document::{Input, InputRole};
use weir_result::{Header, RequestPlan};
use weir_text::Setting;
use weir_text::setting::{BODY, HEADER, HTTP, METHOD, URL};

use crate::prepare::body::{Body, REQUEST_MAX_BYTES};
use crate::prepare::expect::{ExpectationParser, PreparedChecks};
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::headers::headers;
use crate::prepare::list::{FirstRow, List, PreparedList};
use crate::prepare::planned::Planned;
use crate::prepare::redaction::FoundSecrets;
use crate::prepare::script::Scripts;
use crate::prepare::websocket;
use crate::spec::url::Url;
use crate::spec::{BodySpec, HttpChoice, RunSpec};

/// The requests of a run.
#[derive(Debug)]
pub(crate) struct RequestSet {
    /// Method of `request`.
    method: String,
    /// Header fields of all requests but a script's.
    headers: Vec<(String, String)>,
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

/// The parts that the requests of a run are made of.
#[derive(Debug)]
pub(crate) struct RequestParts<'a> {
    /// URL of the requests; the rows of a list have paths of their own.
    pub(crate) url: &'a Url,
    /// Header fields that all have in common.
    pub(crate) headers: Vec<(String, String)>,
    /// Calls of gRPC that they are; `None` if they are others.
    pub(crate) calls: Option<&'a GrpcCalls>,
    /// Body of the specification.
    pub(crate) body: Option<Body>,
    /// Expectations of all responses.
    expectations: ExpectationParser,
}

impl<'a> RequestParts<'a> {
    /// Returns the parts that a specification has, with a body that was opened.
    ///
    /// # Errors
    /// When an expectation is none.
    pub(crate) fn of(
        spec: &RunSpec,
        url: &'a Url,
        calls: Option<&'a GrpcCalls>,
        body: Option<Body>,
    ) -> Result<RequestParts<'a>> {
        let mut headers = headers(spec);
        calls.iter().for_each(|calls| calls.add_headers(&mut headers));
        let expectations = ExpectationParser::new(&spec.expect, calls)?;
        Ok(RequestParts { url, headers, calls, body, expectations })
    }
}

impl RequestSet {
    /// Sets a script up for `threads` threads, and returns the request that it sends first.
    ///
    /// # Errors
    /// When it fails, or makes no request.
    pub(crate) fn of_script(
        parts: RequestParts<'_>,
        scripts: &mut Scripts,
        threads: u32,
    ) -> Result<RequestSet> {
        let (method, request) = scripts.set_up(parts.url, threads)?;
        let bytes = request.request("http").body().len() as u64;
        let body_bytes = if scripts.makes_requests { 0 } else { bytes };
        let checks = parts.expectations.finish(None, 0);
        let headers = parts.headers;
        Ok(RequestSet { method, headers, request, body_bytes, list: None, checks })
    }

    /// Prepares the requests of a list.
    ///
    /// # Errors
    /// When one cannot be sent, or a file cannot be read.
    pub(crate) fn of_list(
        spec: &RunSpec,
        parts: RequestParts<'_>,
        list: &List,
    ) -> Result<Planned<RequestSet>> {
        let RequestParts { url, headers, calls, body, expectations } = parts;
        let body = body.map(|body| content(spec, &body)).transpose()?;
        let (body, inputs) = body.unzip();
        let mut inputs = inputs.unwrap_or_default();
        let list = list.prepare(spec, url, &headers, calls, body.as_deref(), expectations)?;
        inputs.extend(list.inputs.iter().cloned());
        let FirstRow { method, request, .. } = list.first.clone();
        Ok(Planned {
            notes: list.notes().collect(),
            inputs,
            secrets: FoundSecrets::of_values(list.secrets.clone()),
            value: RequestSet {
                method,
                headers,
                request,
                body_bytes: 0,
                checks: list.checks.clone(),
                list: Some(list),
            },
        })
    }

    /// Prepares the one request of a specification.
    ///
    /// # Errors
    /// When it cannot be sent, or its file cannot be read.
    pub(crate) fn of_one(spec: &RunSpec, parts: RequestParts<'_>) -> Result<Planned<RequestSet>> {
        let RequestParts { url, headers, calls, body, expectations } = parts;
        let mut inputs = Vec::new();
        let body = match calls {
            None => body,
            Some(calls) => {
                let content = body.map(|body| content(spec, &body)).transpose()?;
                let (content, read) = content.unzip();
                inputs.extend(read.unwrap_or_default());
                Some(Body::Bytes(calls.body(content.as_deref())?))
            }
        };
        let (method, request) = request(spec, url, &headers, body.as_ref(), &mut inputs)?;
        let body_bytes = body.map_or(0, |body| body.len() as u64);
        let checks = expectations.finish(None, 0);
        let set = RequestSet { method, headers, request, body_bytes, list: None, checks };
        Ok(Planned::read(set, inputs))
    }

    /// Returns the request of the plan.
    pub(crate) fn plan(&self) -> RequestPlan {
        let headers = self.headers.iter().cloned();
        RequestPlan {
            method: self.method.clone(),
            headers: headers.map(|(name, value)| Header { name, value }).collect(),
            body_bytes: self.body_bytes,
            wire_bytes: self.request.bytes().len() as u64,
        }
    }
}

/// Fills `room`, which is as long as the body, and returns its files.
fn fill(spec: &RunSpec, body: &Body, room: &mut [u8]) -> Result<Vec<Input>> {
    body.fill(room)?;
    let mut inputs = match body {
        Body::Form(_, files) => files.clone(),
        _ => Vec::new(),
    };
    if let Some(BodySpec::File(file)) = &spec.request.body {
        inputs.push(file.verify(InputRole::Body, room)?);
    }
    Ok(inputs)
}

/// Returns the content of a body that is no request's yet, and its files.
fn content(spec: &RunSpec, body: &Body) -> Result<(Vec<u8>, Vec<Input>)> {
    let mut bytes = vec![0; body.len()];
    let inputs = fill(spec, body, &mut bytes)?;
    Ok((bytes, inputs))
}

/// Returns the method and the request of a specification, and adds its files to `inputs`.
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
    let mut filled = Ok(Vec::new());
    let fill = |room: &mut [u8]| {
        filled = match (body, &spec.grpc) {
            (None, _) => Ok(Vec::new()),
            (Some(body), None) => fill(spec, body, room),
            // It is made of content that was read.
            (Some(body), Some(_)) => body.fill(room).map(|()| Vec::new()),
        };
    };
    let request = Prepared::http1_filled(&method, &url.path, &host, headers, body_bytes, fill)
        .map_err(|error| anyhow!("{}: {error}", setting_of(&error)))?;
    inputs.extend(filled?);
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
