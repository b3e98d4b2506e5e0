//! The options of curl: what each does to a request.

use std::path::Path;

use crate::list::encoding::percent_encoded;
use crate::list::{FormPart, PartContent, RowBody};

/// Effect of an option on the request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Url(String),
    Method(String),
    /// A header line.
    Header(String),
    /// A field that an option of its own sets.
    Field(&'static str, String),
    User(String),
    Cookie(String),
    /// A part of a form or any other body.
    Data(Vec<u8>),
    /// A part of JSON.
    Json(Vec<u8>),
    /// The body in a file.
    File(RowBody),
    /// JSON in a file.
    JsonFile(RowBody),
    /// A part of a multipart form.
    Part(FormPart),
    /// The body becomes the query.
    Get,
    Head,
    Compressed,
    /// Braces and brackets of URLs are literal.
    Literal,
    /// No effect on the request.
    None,
}

/// An option.
struct KnownOption {
    short: Option<char>,
    long: &'static str,
    kind: OptionKind,
}

#[derive(Clone, Copy)]
enum OptionKind {
    /// Takes no value.
    Switch(fn() -> Effect),
    /// Takes a value, which is text.
    Text(fn(&str) -> Result<Effect, String>),
    /// Takes a value, which may be any bytes.
    Bytes(fn(&[u8]) -> Result<Effect, String>),
    /// About output, waiting, retries or negotiation: has no value, and no effect here.
    Ignored,
    /// The same with a value.
    IgnoredValue,
    /// About connections, proxies or uploads, which a row cannot set; the remedy follows.
    Refused(&'static str),
}

const COMMAND_LINE: &str = "set it for all requests, with an option of weir";

const fn option(short: Option<char>, long: &'static str, kind: OptionKind) -> KnownOption {
    KnownOption { short, long, kind }
}

/// The options that commands for one request have; all others are unknown.
const OPTIONS: &[KnownOption] = &[
    option(None, "url", OptionKind::Text(|url| Ok(Effect::Url(url.to_owned())))),
    option(Some('X'), "request", OptionKind::Text(|method| Ok(Effect::Method(method.to_owned())))),
    option(Some('H'), "header", OptionKind::Text(|line| Ok(Effect::Header(line.to_owned())))),
    option(Some('A'), "user-agent", OptionKind::Text(|it| Ok(field("User-Agent", it)))),
    option(Some('e'), "referer", OptionKind::Text(|it| Ok(field("Referer", referer(it))))),
    option(None, "oauth2-bearer", OptionKind::Text(|it| Ok(field("Authorization", &bearer(it))))),
    option(Some('u'), "user", OptionKind::Text(|user| Ok(Effect::User(user.to_owned())))),
    option(None, "basic", OptionKind::Ignored),
    option(Some('b'), "cookie", OptionKind::Text(cookie)),
    option(Some('d'), "data", OptionKind::Bytes(|it| Ok(data(it, RowBody::JoinedFile)))),
    option(None, "data-ascii", OptionKind::Bytes(|it| Ok(data(it, RowBody::JoinedFile)))),
    option(None, "data-binary", OptionKind::Bytes(|it| Ok(data(it, RowBody::File)))),
    option(None, "data-raw", OptionKind::Bytes(|it| Ok(Effect::Data(it.to_vec())))),
    option(None, "data-urlencode", OptionKind::Bytes(urlencode)),
    option(None, "json", OptionKind::Bytes(|it| Ok(json(it)))),
    option(Some('F'), "form", OptionKind::Bytes(form)),
    option(None, "form-string", OptionKind::Bytes(part)),
    option(Some('G'), "get", OptionKind::Switch(|| Effect::Get)),
    option(Some('I'), "head", OptionKind::Switch(|| Effect::Head)),
    option(None, "compressed", OptionKind::Switch(|| Effect::Compressed)),
    option(Some('g'), "globoff", OptionKind::Switch(|| Effect::Literal)),
    option(Some('#'), "progress-bar", OptionKind::Ignored),
    option(Some('f'), "fail", OptionKind::Ignored),
    option(None, "fail-with-body", OptionKind::Ignored),
    // Versions that curl tries and does without, as Firefox copies them: weir negotiates too.
    option(None, "http2", OptionKind::Ignored),
    option(None, "http3", OptionKind::Ignored),
    option(Some('i'), "include", OptionKind::Ignored),
    option(None, "show-headers", OptionKind::Ignored),
    option(Some('k'), "insecure", OptionKind::Ignored),
    option(Some('L'), "location", OptionKind::Ignored),
    option(Some('N'), "no-buffer", OptionKind::Ignored),
    option(None, "no-progress-meter", OptionKind::Ignored),
    option(Some('O'), "remote-name", OptionKind::Ignored),
    option(Some('J'), "remote-header-name", OptionKind::Ignored),
    option(None, "parallel", OptionKind::Ignored),
    option(Some('q'), "disable", OptionKind::Ignored),
    option(Some('S'), "show-error", OptionKind::Ignored),
    option(Some('s'), "silent", OptionKind::Ignored),
    option(None, "tcp-nodelay", OptionKind::Ignored),
    option(Some('v'), "verbose", OptionKind::Ignored),
    option(Some('c'), "cookie-jar", OptionKind::IgnoredValue),
    option(None, "connect-timeout", OptionKind::IgnoredValue),
    option(Some('D'), "dump-header", OptionKind::IgnoredValue),
    option(None, "max-redirs", OptionKind::IgnoredValue),
    option(Some('m'), "max-time", OptionKind::IgnoredValue),
    option(Some('o'), "output", OptionKind::IgnoredValue),
    option(None, "retry", OptionKind::IgnoredValue),
    option(None, "retry-delay", OptionKind::IgnoredValue),
    option(Some('w'), "write-out", OptionKind::IgnoredValue),
    option(Some('4'), "ipv4", OptionKind::Refused(COMMAND_LINE)),
    option(Some('6'), "ipv6", OptionKind::Refused(COMMAND_LINE)),
    option(None, "cacert", OptionKind::Refused(COMMAND_LINE)),
    option(Some('E'), "cert", OptionKind::Refused(COMMAND_LINE)),
    option(None, "connect-to", OptionKind::Refused(COMMAND_LINE)),
    option(Some('0'), "http1.0", OptionKind::Refused(COMMAND_LINE)),
    option(None, "http1.1", OptionKind::Refused(COMMAND_LINE)),
    option(None, "http2-prior-knowledge", OptionKind::Refused(COMMAND_LINE)),
    option(None, "key", OptionKind::Refused(COMMAND_LINE)),
    option(Some('x'), "proxy", OptionKind::Refused("weir uses no proxy")),
    option(None, "resolve", OptionKind::Refused(COMMAND_LINE)),
    option(None, "unix-socket", OptionKind::Refused(COMMAND_LINE)),
    option(Some('T'), "upload-file", OptionKind::Refused("write -X PUT --data-binary @FILE")),
    option(
        None,
        "digest",
        OptionKind::Refused("weir sends basic authentication or a given header"),
    ),
    option(Some('K'), "config", OptionKind::Refused("write its options into the command")),
];

/// Parses the words behind `curl`.
///
/// # Errors
/// If an option is unknown, refused, or lacks its value.
pub(super) fn parse(words: &[Vec<u8>]) -> Result<Vec<Effect>, String> {
    let mut effects = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix(b"--").filter(|long| !long.is_empty()) {
            let long = String::from_utf8_lossy(long);
            let shown = format!("--{long}");
            let known = OPTIONS.iter().find(|option| option.long == long);
            let known = known.ok_or_else(|| unknown(&shown))?;
            let mut value = || words.next().map(Vec::as_slice);
            effects.push(effect(known, &shown, &mut value)?);
        } else if let Some(cluster) = word.strip_prefix(b"-").filter(|rest| !rest.is_empty()) {
            short_options(cluster, &mut || words.next().map(Vec::as_slice), &mut effects)?;
        } else {
            effects.push(Effect::Url(text("URL", word)?.to_owned()));
        }
    }
    Ok(effects)
}

/// Parses options behind one hyphen; the value of the last may follow it in the same word.
fn short_options<'a>(
    cluster: &'a [u8],
    next: &mut dyn FnMut() -> Option<&'a [u8]>,
    effects: &mut Vec<Effect>,
) -> Result<(), String> {
    let mut rest = cluster;
    while let [first, after @ ..] = rest {
        let shown = format!("-{}", char::from(*first));
        let known = OPTIONS.iter().find(|option| option.short == Some(char::from(*first)));
        let known = known.ok_or_else(|| unknown(&shown))?;
        rest = after;
        let mut is_within = false;
        let mut value = || match after {
            [] => next(),
            within => {
                is_within = true;
                Some(within)
            }
        };
        effects.push(effect(known, &shown, &mut value)?);
        if is_within {
            break;
        }
    }
    Ok(())
}

fn effect<'a>(
    known: &KnownOption,
    shown: &str,
    value: &mut dyn FnMut() -> Option<&'a [u8]>,
) -> Result<Effect, String> {
    let mut value = || value().ok_or_else(|| format!("`{shown}` lacks its value"));
    match known.kind {
        OptionKind::Switch(make) => Ok(make()),
        OptionKind::Text(make) => make(text(shown, value()?)?),
        OptionKind::Bytes(make) => make(value()?),
        OptionKind::Ignored => Ok(Effect::None),
        OptionKind::IgnoredValue => value().map(|_| Effect::None),
        OptionKind::Refused(remedy) => Err(format!("`{shown}` is no part of a request: {remedy}")),
    }
}

fn unknown(shown: &str) -> String {
    format!("unknown option `{}` of curl", weir_text::brief(shown))
}

fn text<'a>(shown: &str, value: &'a [u8]) -> Result<&'a str, String> {
    str::from_utf8(value).map_err(|_| format!("the value of `{shown}` is not UTF-8"))
}

fn field(name: &'static str, value: &str) -> Effect {
    match value {
        "" => Effect::None,
        value => Effect::Field(name, value.to_owned()),
    }
}

/// Drops `;auto`, which is about redirects.
fn referer(value: &str) -> &str {
    value.strip_suffix(";auto").unwrap_or(value)
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn cookie(value: &str) -> Result<Effect, String> {
    match value.contains('=') {
        true => Ok(Effect::Cookie(value.to_owned())),
        false => Err("`-b` names a file: write its cookies, NAME=VALUE".to_owned()),
    }
}

/// Returns the body of `-d`: bytes, or behind `@` a file.
fn data(value: &[u8], file: fn(String) -> RowBody) -> Effect {
    match value.strip_prefix(b"@") {
        Some(path) => Effect::File(file(String::from_utf8_lossy(path).into_owned())),
        None => Effect::Data(value.to_vec()),
    }
}

fn json(value: &[u8]) -> Effect {
    match value.strip_prefix(b"@") {
        Some(path) => Effect::JsonFile(RowBody::File(String::from_utf8_lossy(path).into_owned())),
        None => Effect::Json(value.to_vec()),
    }
}

/// `CONTENT`, `=CONTENT` or `NAME=CONTENT`, of which the content is encoded.
fn urlencode(value: &[u8]) -> Result<Effect, String> {
    let equals = value.iter().position(|byte| *byte == b'=');
    let (name, content) = match equals {
        Some(0) => (&value[..0], &value[1..]),
        Some(at) => (&value[..=at], &value[at + 1..]),
        None if value.contains(&b'@') => {
            return Err("`--data-urlencode` names a file: write its content".to_owned());
        }
        None => (&value[..0], value),
    };
    Ok(Effect::Data([name, percent_encoded(content).as_bytes()].concat()))
}

/// `NAME=CONTENT`, `NAME=@FILE` or `NAME=<FILE`, with `;type=TYPE` and `;filename=NAME` behind it.
fn form(value: &[u8]) -> Result<Effect, String> {
    let (name, value) = name_and_value(value)?;
    let sign = value.first().copied().filter(|first| matches!(first, b'@' | b'<'));
    let value = if sign.is_some() { &value[1..] } else { value };
    let (content, mut rest) = form_word(value);
    let mut part = FormPart::field(name, content);
    if let (Some(sign), PartContent::Bytes(path)) = (sign, &part.content) {
        let path = text("-F", path)?.to_owned();
        if path == "-" || path.is_empty() {
            return Err("`-F` names no file: write its content into the command".to_owned());
        }
        if path.contains(',') && value.first() != Some(&b'"') {
            return Err("`-F` names several files: write a part for each".to_owned());
        }
        let base = Path::new(&path).file_name().map(|base| base.to_string_lossy().into_owned());
        part.file_name = base.filter(|_| sign == b'@');
        let by_default = part.file_name.is_some().then_some("application/octet-stream");
        part.media_type = media_type_of(&path).or(by_default).map(str::to_owned);
        part.content = PartContent::File(path);
    }
    while let Some(setting) = rest {
        let word;
        (word, rest) = form_word(setting);
        match text("-F", &word)?.trim().split_once('=') {
            Some(("type", media_type)) => part.media_type = Some(media_type.to_owned()),
            Some(("filename", name)) => part.file_name = Some(name.trim_matches('"').to_owned()),
            _ => {
                let word = String::from_utf8_lossy(&word);
                return Err(format!(
                    "`-F` has {:?} behind a semicolon: use `--form-string` for text with one",
                    weir_text::brief(&word)
                ));
            }
        }
    }
    Ok(Effect::Part(part))
}

fn name_and_value(value: &[u8]) -> Result<(&str, &[u8]), String> {
    let Some(equals) = value.iter().position(|byte| *byte == b'=') else {
        return Err("a part of a form has no `=`: write NAME=VALUE".to_owned());
    };
    Ok((text("-F", &value[..equals])?, &value[equals + 1..]))
}

/// Returns the word before the next semicolon, and what follows that; in quotation marks, a word
/// may have semicolons, and backslashes before quotation marks and backslashes.
fn form_word(value: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let value = value.trim_ascii_start();
    let Some(quoted) = value.strip_prefix(b"\"") else {
        let mut parts = value.splitn(2, |byte| *byte == b';');
        return (parts.next().unwrap_or_default().to_vec(), parts.next());
    };
    let mut word = Vec::new();
    let mut rest = quoted;
    loop {
        match rest {
            [b'\\', byte @ (b'"' | b'\\'), after @ ..] => {
                word.push(*byte);
                rest = after;
            }
            [b'"', after @ ..] => {
                let behind = after.iter().position(|byte| *byte == b';');
                return (word, behind.map(|at| &after[at + 1..]));
            }
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
            // The quotation mark is not closed, and so is part of the text.
            [] => {
                let mut parts = value.splitn(2, |byte| *byte == b';');
                return (parts.next().unwrap_or_default().to_vec(), parts.next());
            }
        }
    }
}

/// Returns the media type that curl gives to a file of this name.
fn media_type_of(path: &str) -> Option<&'static str> {
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => return None,
    })
}

fn part(value: &[u8]) -> Result<Effect, String> {
    let (name, value) = name_and_value(value)?;
    Ok(Effect::Part(FormPart::field(name, value)))
}
