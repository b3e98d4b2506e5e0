//! The flags of the request: its header fields, method and body, or the script that makes requests;
//! and the credentials in it.

use std::path::{Path, PathBuf};

use clap::Args;
use weir_result::Header;
use weir_runner::{
    BodySpec, FormField, FormValue, InputFile, RedactionSpec, RequestSpec, ScriptSpec, credentials,
};
use weir_text::units::parse_bytes;

use super::values::redirects;
use super::wrong::wrong;
use super::{peers, tls};

/// Heading of the flags.
const HEADING: &str = "Request";

/// The flags of the request.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct RequestArgs {
    /// Add a header, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// Request body: text, or @FILE (at most 1 GiB)
    #[arg(short = 'b', long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Request body of this size: a run of the letter x
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "body")]
    body_size: Option<u64>,
    /// Field of a form: NAME=VALUE, or NAME=@FILE, which makes it multipart/form-data; repeatable
    #[arg(long = "form-field", value_name = "NAME=VALUE|NAME=@FILE", value_parser = form_field,
          conflicts_with_all = ["body", "body_size"])]
    form_fields: Vec<FormField>,
    /// Follow up to N redirects within the origin of the URL; the response time goes to the end of
    /// the last response
    #[arg(long, value_name = "N", value_parser = redirects, default_value = "0",
          conflicts_with = "script")]
    follow: u8,
    /// Lua script that makes requests and reads responses, with wrk's API
    #[arg(short, long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Memory for the response bodies that a script sees, over all connections; more is cut
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "256Mi")]
    script_memory: u64,
}

impl RequestArgs {
    /// Returns the request of the specification.
    pub(super) fn spec(&self, given: &CredentialArgs) -> RequestSpec {
        let headers = self.headers.iter().filter_map(|line| line.split_once(':'));
        let of_url = || given.userinfo.as_deref().map(credentials::decoded);
        RequestSpec {
            method: self.method.clone(),
            headers: headers.map(|(name, value)| header(name, value)).collect(),
            basic_auth: given.user.clone().or_else(of_url),
            body: match &self.form_fields[..] {
                [] => self.body.as_deref().map(body).or(self.body_size.map(BodySpec::Filler)),
                fields => Some(BodySpec::Form(fields.to_vec())),
            },
            redirects: self.follow,
        }
    }

    /// Returns the script of the specification, with its arguments.
    pub(super) fn script(&self, args: Vec<String>) -> Option<ScriptSpec> {
        let file = InputFile::at(self.script.as_ref()?);
        Some(ScriptSpec { file, args, memory_bytes: self.script_memory })
    }

    /// Checks the header fields, and that a script is given no part of the request.
    ///
    /// # Errors
    /// When a flag is wrong.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        self.headers.iter().try_for_each(|header| check_header(header))?;
        if self.script.is_none() {
            return Ok(());
        }
        let (flag, remedy) = match self {
            RequestArgs { method: Some(_), .. } => ("--method", "set wrk.method"),
            RequestArgs { body: Some(_), .. } => ("--body", "set wrk.body"),
            RequestArgs { form_fields, .. } if !form_fields.is_empty() => {
                ("--form-field", "set wrk.body and the header Content-Type")
            }
            RequestArgs { body_size: Some(_), .. } => {
                ("--body-size", "set wrk.body = string.rep('x', BYTES)")
            }
            _ => return Ok(()),
        };
        let text = "cannot be used with --script, which makes the requests";
        Err(wrong(format!("{flag} {text}: {remedy} in the script")))
    }

    /// Returns the values of a form that are texts.
    pub(super) fn form_texts(&self) -> impl Iterator<Item = &String> {
        self.form_fields.iter().filter_map(|field| match &field.value {
            FormValue::Text(text) => Some(text),
            FormValue::File(_) => None,
        })
    }

    /// Returns the names of the header fields.
    pub(super) fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().filter_map(|header| header.split_once(':')).map(|(name, _)| name.trim())
    }
}

/// Parses the value of `--form-field`.
fn form_field(text: &str) -> Result<FormField, String> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err("write NAME=VALUE, or NAME=@FILE".to_owned());
    };
    let value = match value.strip_prefix('@') {
        Some(path) => FormValue::File(InputFile::at(Path::new(path))),
        None => FormValue::Text(value.to_owned()),
    };
    Ok(FormField { name: name.to_owned(), value })
}

/// Returns a header without the blanks around its name and its value.
pub(crate) fn header(name: &str, value: &str) -> Header {
    Header { name: name.trim().to_owned(), value: value.trim().to_owned() }
}

/// Parses the value of `--body`.
pub(crate) fn body(text: &str) -> BodySpec {
    match text.strip_prefix('@') {
        Some(path) => BodySpec::File(InputFile::at(Path::new(path))),
        None => BodySpec::Text(text.to_owned()),
    }
}

/// Checks that a header has a name that RFC 9110 §5.1 allows. The error does not repeat its value.
pub(crate) fn check_header(header: &str) -> Result<(), clap::Error> {
    let Some((name, _)) = header.split_once(':') else {
        let word = header.split_whitespace().next().unwrap_or_default();
        return Err(wrong(format!("--header {word:?} has no colon: write \"Name: value\"")));
    };
    if is_token(name) {
        return Ok(());
    }
    Err(wrong(format!(
        "--header name {name:?} is not a token (RFC 9110); use letters, digits and !#$%&'*+-.^_`|~"
    )))
}

/// True if a text is a token (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// The flags of credentials, and of what is never written.
#[derive(Debug, Args)]
#[command(next_help_heading = tls::HEADING)]
pub(crate) struct CredentialArgs {
    /// Basic authentication; replaces a user name and password in the URL
    #[arg(short, long, value_name = "USER:PASS")]
    pub(crate) user: Option<String>,
    /// User name and password that stood in the URL, as they stood there.
    #[arg(skip)]
    pub(super) userinfo: Option<String>,
    /// Further names whose values are never written.
    #[arg(
        help = "Write [redacted] for this header or query parameter; repeatable, or with commas",
        long,
        value_name = "NAME",
        value_delimiter = ','
    )]
    redact: Vec<String>,
    /// Write credentials as given to documents, rows and reports
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
}

impl CredentialArgs {
    /// Returns the values that are never written.
    pub(super) fn spec(&self) -> RedactionSpec {
        RedactionSpec {
            off: self.no_redact,
            names: self.redact.clone(),
            users: self.user.iter().cloned().collect(),
            userinfos: self.userinfo.iter().cloned().collect(),
        }
    }

    /// Checks the user and the names. `headers` are the names of the request's header fields.
    ///
    /// # Errors
    /// When a flag is wrong.
    pub(super) fn check<'a>(
        &self,
        mut headers: impl Iterator<Item = &'a str>,
    ) -> Result<(), clap::Error> {
        if self.redact.iter().any(|name| name.trim().is_empty()) {
            return Err(wrong(
                "--redact needs the name of a header or query parameter: one name is empty",
            ));
        }
        let Some(user) = &self.user else { return Ok(()) };
        check_user(user)?;
        match headers.any(|name| name.eq_ignore_ascii_case("authorization")) {
            true => Err(wrong(
                "--user and --header Authorization set the same header: give one of them",
            )),
            false => Ok(()),
        }
    }
}

fn check_user(user: &str) -> Result<(), clap::Error> {
    if user.contains(':') && !user.contains(char::is_control) {
        return Ok(());
    }
    let hint = peers::of_one_dash(&format!("-u{user}"), None);
    let hint = hint.or_else(|| peers::tip("-u", user).map(|tip| format!("--user: {tip}")));
    let text = "--user needs USER:PASS without control characters; write 'USER:' for no password";
    Err(wrong(hint.unwrap_or_else(|| text.to_owned())))
}
