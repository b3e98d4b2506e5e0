//! Raw requests, generated and corrupted at random: the parser against a slow one that follows RFC
//! 9112 literally, and against requests built by this crate.

use crate::check;
use crate::check::XorShift;
use proptest::prelude::*;
use weir_http::{Prepared, RawRequest, RequestTraits, read_requests};

/// Generates a request and its traits.
fn request() -> impl Strategy<Value = (String, RequestTraits)> {
    let methods = prop::sample::select(vec!["GET", "HEAD", "POST", "x-!", "DELETE"]);
    let targets = prop::sample::select(vec!["/", "*", "/a?b=c:d", "http://h:80/é"]);
    let fields = prop::collection::vec(field(), 0..4);
    let ends = prop::sample::select(vec!["\r\n", "\n"]);
    let line = (methods, targets, prop::sample::select(vec![0, 1, 1, 1, 2]));
    (line, fields, body(), ends, 0..3usize).prop_map(|(line, fields, body, end, empty)| {
        let (method, target, minor) = line;
        let mut closes = false;
        let mut stays = minor > 0;
        let mut text = end.repeat(empty) + &format!("{method} {target} HTTP/1.{minor}{end}");
        for (name, value) in &fields {
            text += &format!("{name}:{value}{end}");
            if name.eq_ignore_ascii_case("connection") {
                let value = value.to_ascii_lowercase();
                closes |= value.contains("close");
                stays |= value.contains("keep");
            }
        }
        // HTTP/1.0 has no chunks.
        let body = if minor == 0 && body.starts_with("Transfer") { end.to_owned() } else { body };
        (text + &body, RequestTraits { head: method == "HEAD", closes: closes || !stays })
    })
}

fn field() -> impl Strategy<Value = (String, String)> {
    let plain = ("[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,9}Z", "[\t -~é]{0,20}(\r\n [a-z]{0,9})?");
    let connection = prop::sample::select(vec!["close", " Keep-Alive", "x\t, CLOSE ,y", " zlose"]);
    let named = ("Connection|connection|CONNECTION", connection.prop_map(str::to_owned));
    prop_oneof![3 => plain, 1 => named]
}

/// Generates the rest of a request, from the framing field or the empty line on.
fn body() -> impl Strategy<Value = String> {
    let chunks = "([1-9]|0{0,3}[1-9a-f](;a=\"b\")?)";
    prop_oneof![
        Just("\r\n".to_owned()),
        "[\r\n -~]{0,30}".prop_map(|body| format!("CONTENT-length: {}\r\n\r\n{body}", body.len())),
        (prop::collection::vec(chunks, 0..3), "(X: y\r?\n( z\n)?){0,2}").prop_map(
            |(sizes, trailers)| {
                let mut text = "Transfer-Encoding: Chunked\r\n\r\n".to_owned();
                for size in sizes {
                    let digits = size.split(';').next().unwrap_or_default();
                    let length = usize::from_str_radix(digits, 16).expect("digits");
                    text += &format!("{size}\r\n{}\r\n", "\n".repeat(length));
                }
                text + "0\r\n" + &trailers + "\r\n"
            }
        ),
    ]
}

fn read(bytes: &[u8]) -> Result<Vec<RawRequest>, &'static str> {
    let mut requests = Vec::new();
    read_requests(bytes, &mut requests).map_err(|error| error.reason)?;
    Ok(requests)
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        check::requests(&bytes);
    }

    /// Each request is found as written; a cut leaves the complete ones or is an error.
    #[test]
    fn requests_are_found(requests in prop::collection::vec(request(), 1..6)) {
        // Nothing may follow a request that closes.
        let closing = requests.iter().position(|(_, traits)| traits.closes);
        let requests = &requests[..closing.map_or(requests.len(), |index| index + 1)];
        let found = |count: usize| {
            let raw = |(text, traits): &(String, RequestTraits)| {
                RawRequest { bytes: text.len() as u32, traits: *traits }
            };
            requests[..count].iter().map(raw).collect::<Vec<_>>()
        };
        let text: String = requests.iter().map(|(text, _)| text.as_str()).collect();
        prop_assert_eq!(read(text.as_bytes()), Ok(found(requests.len())));
        for cut in 0..text.len() {
            let mut end = 0;
            let mut whole = 0;
            while whole < requests.len() && end + requests[whole].0.len() <= cut {
                end += requests[whole].0.len();
                whole += 1;
            }
            let part = &text.as_bytes()[..cut];
            // The complete requests may be followed by only the empty lines of the next one.
            let is_empty = part[end..].iter().all(|byte| b"\r\n".contains(byte));
            if whole > 0 && is_empty && !part[end..].ends_with(b"\r") {
                let mut expected = found(whole);
                expected[whole - 1].bytes += (cut - end) as u32;
                prop_assert_eq!(read(part), Ok(expected), "cut at {}", cut);
            } else {
                prop_assert_eq!(read(part), Err("incomplete request"), "cut at {}", cut);
            }
        }
    }

    /// Both parsers agree on corrupted requests.
    #[test]
    fn a_slow_reader_agrees(
        requests in prop::collection::vec(request(), 1..4),
        seed in any::<u64>(),
    ) {
        let text: String = requests.iter().map(|(text, _)| text.as_str()).collect();
        let mut bytes = text.into_bytes();
        let mut random = XorShift::new(seed);
        for _ in 0..40 {
            let text = bytes.escape_ascii().to_string();
            prop_assert_eq!(read(&bytes).ok(), slow::read(&bytes), "{}", text);
            check::requests(&bytes);
            let at = random.below(bytes.len());
            let put = slow::SPOILS[random.below(slow::SPOILS.len())];
            let end = at + random.below(bytes.len() - at + 1).min(random.below(4));
            bytes.splice(at..end, put.bytes());
            if bytes.is_empty() {
                break;
            }
        }
    }

    /// A prepared request is parsed as one request with its traits.
    #[test]
    fn prepared_requests_agree(
        method in prop::sample::select(vec!["GET", "HEAD", "POST", "PUT"]),
        fields in prop::collection::vec(field(), 0..4),
        body in prop::option::of(prop::collection::vec(any::<u8>(), 0..50)),
        is_chunked in any::<bool>(),
    ) {
        let mut headers = fields;
        if is_chunked {
            headers.push(("Transfer-Encoding".to_owned(), "chunked".to_owned()));
        }
        headers.retain(|(_, value)| !value.contains('\n'));
        let prepared = Prepared::http1(method, "/a", "h:1", &headers, body.as_deref()).unwrap();
        let bytes = u32::try_from(prepared.bytes().len()).unwrap();
        let raw = RawRequest { bytes, traits: prepared.traits() };
        prop_assert_eq!(read(prepared.bytes()), Ok(vec![raw]));
    }
}

/// Reference parser: splits, collects, validates. `None` is an error of any kind.
mod slow {
    use super::{RawRequest, RequestTraits};

    pub(super) const SPOILS: [&str; 24] = [
        "",
        "",
        "\r",
        "\n",
        "\r\n",
        "\r\n\r\n",
        " ",
        "\t",
        ":",
        ";",
        ",",
        "\0",
        "\x7f",
        "5",
        "x",
        "HEAD ",
        "HTTP/1.0",
        "Connection: close\r\n",
        "Content-Length: 3\r\n",
        "\nContent-Length:",
        "Transfer-Encoding: gzip, chunked\r\n",
        "\nTransfer-Encoding:",
        "chunked",
        "é",
    ];

    type Fields = Vec<(String, Vec<u8>)>;

    pub(super) fn read(bytes: &[u8]) -> Option<Vec<RawRequest>> {
        let mut requests = Vec::<RawRequest>::new();
        let mut rest = bytes;
        loop {
            let begin = rest.len();
            let mut peeked = rest;
            while line(&mut peeked).is_some_and(<[u8]>::is_empty) {
                rest = peeked;
            }
            if rest.is_empty() {
                requests.last_mut()?.bytes += begin as u32;
                return Some(requests);
            }
            if requests.last().is_some_and(|last| last.traits.closes) {
                return None;
            }
            let traits = request(&mut rest)?;
            requests.push(RawRequest { bytes: (begin - rest.len()) as u32, traits });
        }
    }

    /// Takes a line, without its end.
    fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let line = &rest[..end];
        *rest = &rest[end + 1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn take(rest: &mut &[u8], length: u64) -> Option<()> {
        *rest = rest.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn request(rest: &mut &[u8]) -> Option<RequestTraits> {
        let parts: Vec<_> = line(rest)?.split(|&byte| byte == b' ').collect();
        // Blanks may occur in the target, but not at its start.
        let [method, target, .., [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor]] = parts[..]
        else {
            return None;
        };
        let is_target = !target.is_empty() && target.iter().all(|&byte| byte > b' ');
        if !is_token(method) || method == b"CONNECT" || !is_target || !minor.is_ascii_digit() {
            return None;
        }
        let fields = fields(rest, true)?;
        let options = list(&fields, "connection");
        let has = |name| options.iter().flatten().any(|option| option == name);
        let closes = has("close") || (*minor == b'0' && !has("keep-alive"));
        match (content_length(&fields)?, list(&fields, "transfer-encoding")) {
            (length, codings) if codings.is_empty() => take(rest, length.unwrap_or(0))?,
            (_, codings) if *minor > b'0' && is_chunked(&codings) => chunks(rest)?,
            _ => return None,
        }
        Some(RequestTraits { head: method == b"HEAD", closes })
    }

    fn is_token(bytes: &[u8]) -> bool {
        let is_tchar = |b: &u8| b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(b);
        !bytes.is_empty() && bytes.iter().all(is_tchar)
    }

    fn fields(rest: &mut &[u8], is_head: bool) -> Option<Fields> {
        let mut fields = Fields::new();
        loop {
            let line = line(rest)?;
            if line.is_empty() {
                return Some(fields);
            }
            if line.contains(&0) || line.contains(&b'\r') {
                return None;
            }
            if matches!(line[0], b' ' | b'\t') {
                let framing = ["connection", "content-length", "transfer-encoding"];
                let (name, _) = fields.last()?;
                if is_head && framing.contains(&name.as_str()) {
                    return None;
                }
                continue;
            }
            let colon = line.iter().position(|&byte| byte == b':')?;
            let name = str::from_utf8(&line[..colon]).ok()?;
            if name.is_empty() || !name.bytes().all(|byte| (0x21..0x80).contains(&byte)) {
                return None;
            }
            fields.push((name.to_ascii_lowercase(), line[colon + 1..].to_vec()));
        }
    }

    /// Returns the elements of each field of that name.
    fn list(fields: &Fields, name: &str) -> Vec<Vec<String>> {
        let named = fields.iter().filter(|(known, _)| known == name);
        let elements = |value: &[u8]| {
            let text = String::from_utf8_lossy(value).to_ascii_lowercase();
            let elements = text.split(',').map(|element| element.trim_matches([' ', '\t']));
            elements.filter(|element| !element.is_empty()).map(str::to_owned).collect()
        };
        named.map(|(_, value)| elements(value)).collect()
    }

    fn content_length(fields: &Fields) -> Option<Option<u64>> {
        let lists = list(fields, "content-length");
        if lists.iter().any(Vec::is_empty) {
            return None;
        }
        let mut known = None;
        for element in lists.iter().flatten() {
            if !element.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let length = element.parse().ok()?;
            if known.is_some_and(|known: u64| known != length) {
                return None;
            }
            known = Some(length);
        }
        Some(known)
    }

    fn is_chunked(codings: &[Vec<String>]) -> bool {
        let all: Vec<_> = codings.iter().flatten().collect();
        let name = |coding: &str| {
            coding.split(';').next().unwrap_or_default().trim_matches([' ', '\t']).to_owned()
        };
        let Some((last, others)) = all.split_last() else { return false };
        !codings.iter().any(Vec::is_empty)
            && *last == "chunked"
            && others.iter().all(|coding| {
                is_token(name(coding).as_bytes())
                    && name(coding) != "chunked"
                    && !coding.contains('"')
            })
    }

    fn chunks(rest: &mut &[u8]) -> Option<()> {
        loop {
            let end = rest.iter().position(|&byte| byte == b'\n')?;
            let text = rest[..end].strip_suffix(b"\r")?;
            *rest = &rest[end + 1..];
            let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let (digits, extension) = text.split_at(digits);
            let begin = extension.iter().find(|&&byte| byte != b' ' && byte != b'\t');
            let is_text = |&byte: &u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
            if begin.is_some_and(|&byte| byte != b';') || !extension.iter().all(is_text) {
                return None;
            }
            let size = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
            if size == 0 {
                return fields(rest, false).map(drop);
            }
            take(rest, size)?;
            *rest = rest.strip_prefix(b"\r\n")?;
        }
    }
}
