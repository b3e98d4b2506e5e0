//! The request of a row: what the row gives, and what it leaves to the command line.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use weir_http::Prepared;
use weir_list::{Row, RowBody};
use weir_result::document::{Input, InputRole};
use weir_text::setting::{ALLOW_LOCAL, HTTP, SKIP_OTHER_ORIGINS};

use crate::digest::sha256;
use crate::errors::shown;
use crate::spec::url::Url;
use crate::spec::{HttpChoice, ListSpec, RunSpec, credentials};

/// The parts that the requests of all rows share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) spec: RunSpec,
    pub(super) list: ListSpec,
    /// The server.
    pub(super) url: Url,
    /// Header fields of the command line. A row's own replace those with the same name.
    pub(super) headers: Vec<(String, String)>,
    /// Body of the command line, of rows without one.
    pub(super) body: Option<Vec<u8>>,
}

/// A row that can be sent.
pub(super) struct RowRequest {
    pub(super) method: String,
    /// Path with the query.
    pub(super) path: String,
    pub(super) request: Prepared,
    /// File that the body was read from.
    pub(super) input: Option<Input>,
}

/// The place of a row's URL.
pub(super) enum RowPlace {
    /// This path, with its query, of the run's server.
    Here(String),
    /// Another origin.
    Elsewhere(String),
}

impl Common {
    /// Returns the place of a row's URL.
    ///
    /// # Errors
    /// When it is no URL and no path.
    pub(super) fn place(&self, row: &Row) -> Result<RowPlace> {
        let url = &self.url;
        if row.target.starts_with('/') {
            let own = Url::parse(&format!("{}{}", url.origin(), row.target))?;
            return Ok(RowPlace::Here(own.path));
        }
        let own = Url::parse(&credentials::split_userinfo(&row.target).0)?;
        let is_same = own.is_secure == url.is_secure
            && own.host.eq_ignore_ascii_case(&url.host)
            && own.port() == url.port();
        Ok(if is_same { RowPlace::Here(own.path) } else { RowPlace::Elsewhere(own.origin()) })
    }

    /// Returns the error of a row of another origin.
    pub(super) fn elsewhere(&self, origin: &str) -> anyhow::Error {
        let own = self.url.origin();
        anyhow!(
            "its origin is {origin}, and the run's is {own}: a run has one; {SKIP_OTHER_ORIGINS} \
             leaves out the others"
        )
    }

    /// Returns the request of a row with this path.
    ///
    /// # Errors
    /// When it cannot be sent, or its body is a file that cannot be read.
    pub(super) fn request(&self, row: &Row, path: String) -> Result<RowRequest> {
        let (body, input) = self.body(row)?;
        let body = body.as_deref();
        let own = row.method.as_ref().or(self.spec.request.method.as_ref());
        let method = own.map_or(if body.is_some() { "POST" } else { "GET" }, String::as_str);
        let host = self.url.authority();
        let request = Prepared::http1(method, &path, &host, &self.headers_of(row), body)?;
        let request = match self.spec.http.version {
            HttpChoice::Http10 => request.http10().with_context(|| format!("{HTTP} 1.0"))?,
            _ => request,
        };
        Ok(RowRequest { method: method.to_owned(), path, request, input })
    }

    fn headers_of(&self, row: &Row) -> Vec<(String, String)> {
        let of_url = || credentials::split_userinfo(&row.target).1.map(credentials::decoded);
        let user = row.basic_auth.clone().or_else(of_url);
        let is_own = |name: &str| {
            row.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
                || (user.is_some() && name.eq_ignore_ascii_case("authorization"))
        };
        let common = self.headers.iter().filter(|(name, _)| !is_own(name));
        let mut headers: Vec<(String, String)> = common.chain(&row.headers).cloned().collect();
        if let Some(user) = &user {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            headers.push(("Authorization".to_owned(), credentials::basic(user)));
        }
        headers
    }

    /// Returns the body of a row, and the file that it was read from.
    fn body(&self, row: &Row) -> Result<(Option<Vec<u8>>, Option<Input>)> {
        let (path, is_joined) = match &row.body {
            None => return Ok((self.body.clone(), None)),
            Some(RowBody::Bytes(bytes)) => return Ok((Some(bytes.clone()), None)),
            Some(RowBody::File(path)) => (Path::new(path), false),
            Some(RowBody::JoinedFile(path)) => (Path::new(path), true),
        };
        if !self.list.allow_local {
            bail!(
                "its body is the file {} of this machine: give {ALLOW_LOCAL} if you trust the list",
                shown(path)
            );
        }
        let read = std::fs::read(path);
        let mut body = read.map_err(|error| anyhow!("{} cannot be read: {error}", shown(path)))?;
        let input = Input {
            role: InputRole::Body,
            path: path.to_string_lossy().into_owned(),
            bytes: body.len() as u64,
            sha256: sha256(&body),
        };
        if is_joined {
            body.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        }
        Ok((Some(body), Some(input)))
    }
}
