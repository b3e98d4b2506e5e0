//! The expectations of the responses to one request, and the check of a response.

use weir_http::grpc::{CallFault, GrpcStatus, percent_decoded};
use weir_http::{Interest, ReceivedResponse};
use weir_result::{MissExample, MissKind, SuccessRule};

use crate::expect::expectation::Condition;
use crate::expect::json::{Expected, Pointer};
use crate::expect::status::StatusCodes;
use crate::expect::{BodyDecoder, ExpectError, Expectation, FirstBodies, Miss};

/// Greatest length of the part of a response that an example keeps, in bytes. More than is shown,
/// so that a credential in the part that is shown is whole, and found.
const EXAMPLE_BYTES: usize = 4_096;

/// The expectations of the responses to one request.
#[derive(Clone, Debug)]
pub struct Expectations {
    /// Status codes, if none of `all` is about them.
    default_status: Option<StatusCodes>,
    all: Vec<Expectation>,
}

impl Expectations {
    /// Returns the expectations `common` to all requests and the request's `own`. A status code
    /// among its own replaces the common one, and so does a status of gRPC. Without any, a status
    /// code below 400 is expected.
    ///
    /// # Errors
    /// If either has two rules for the status code, or for the status of gRPC.
    pub fn new(common: &[Expectation], own: &[Expectation]) -> Result<Expectations, ExpectError> {
        let of_common = status_of(common)?;
        let of_own = status_of(own)?;
        let of_grpc = |all| single(all, Expectation::is_of_grpc);
        let grpc_of_common = of_grpc(common)?;
        let grpc_of_own = of_grpc(own)?;
        let replaced = of_common.filter(|_| of_own.is_some());
        let replaced_grpc = grpc_of_common.filter(|_| grpc_of_own.is_some());
        let is_replaced = |index| replaced == Some(index) || replaced_grpc == Some(index);
        let common = common.iter().enumerate().filter(|(index, _)| !is_replaced(*index));
        let mut all: Vec<Expectation> = common.map(|(_, one)| one).chain(own).cloned().collect();
        // Cheap checks come first.
        all.sort_by_key(|one| match one.condition {
            Condition::Status(_) => 0,
            Condition::Grpc(_) => 1,
            Condition::Header { .. } => 2,
            Condition::Body(_) => 3,
            Condition::Json { .. } => 4,
            // Only a body that meets the others is one that others are compared with.
            Condition::Same => 5,
        });
        let SuccessRule { status_min, status_max } = SuccessRule::default();
        let is_default = of_common.is_none() && of_own.is_none();
        let default_status = is_default.then(|| StatusCodes::between(status_min, status_max));
        Ok(Expectations { default_status, all })
    }

    /// Returns the part of each response that decides.
    pub fn interest(&self) -> Interest {
        match &self.all[..] {
            all if all.iter().any(|one| one.condition.reads_body()) => Interest::Body,
            all if all.iter().any(|one| one.condition.reads_fields()) => Interest::Head,
            _ => Interest::Status,
        }
    }

    /// True if bodies are compared with each other.
    pub fn compares_bodies(&self) -> bool {
        self.all.iter().any(|one| matches!(one.condition, Condition::Same))
    }

    /// Checks the response to a request with this number of a name. `decoder` has its decoded body
    /// afterwards, if the body was read.
    ///
    /// # Errors
    /// If it misses an expectation: the first one in the order status, status of gRPC, headers,
    /// body, JSON, same.
    pub fn check(
        &self,
        response: &ReceivedResponse<'_>,
        decoder: &mut BodyDecoder,
        first: &FirstBodies,
        name: usize,
    ) -> Result<(), Miss> {
        if self.default_status.as_ref().is_some_and(|codes| !codes.contains(response.status)) {
            return Err(Miss { kind: MissKind::Status, expectation: None });
        }
        let mut is_decoded = false;
        for (index, Expectation { condition, .. }) in self.all.iter().enumerate() {
            let missed = |kind| Miss { kind, expectation: Some(index) };
            if condition.reads_body() && !is_decoded {
                decoder.read(response).map_err(|error| missed(error.miss_kind()))?;
                is_decoded = true;
            }
            let body = || decoder.decoded(response.body);
            let kind = match condition {
                Condition::Status(codes) if !codes.contains(response.status) => MissKind::Status,
                Condition::Grpc(expected) => match (grpc_status(response), grpc_fault(response)) {
                    (Some(status), None) if expected.contains(&status) => continue,
                    (Some(status), Some(fault)) if expected.contains(&status) => {
                        MissKind::Grpc(fault.code())
                    }
                    (found, _) => MissKind::Grpc(found.map_or(NO_GRPC_STATUS, GrpcStatus::code)),
                },
                Condition::Header { name, value } if !has_field(response, name, value.as_ref()) => {
                    MissKind::Header
                }
                Condition::Body(regex) if !regex.is_match(body()) => MissKind::Body,
                Condition::Json { pointer, value }
                    if !has_value(pointer, value.as_ref(), body()) =>
                {
                    MissKind::Json
                }
                Condition::Same if !first.is_same(name, body()) => MissKind::Same,
                _ => continue,
            };
            return Err(missed(kind));
        }
        Ok(())
    }

    /// Returns an example of a miss: that of a response which `decoder` was just used for.
    pub fn example(
        &self,
        miss: Miss,
        response: &ReceivedResponse<'_>,
        decoder: &mut BodyDecoder,
    ) -> MissExample {
        let expectation = miss.expectation.map(|index| &self.all[index]);
        let found = match (miss.kind, expectation.map(|one| &one.condition)) {
            (MissKind::BodyTooLarge | MissKind::BodyUndecodable, _) => {
                let error = decoder.read(response).err();
                error.map(|error| error.to_string()).unwrap_or_default()
            }
            (_, Some(Condition::Header { name, .. })) => {
                let values = fields(response, name).map(|value| format!("{name}: {}", text(value)));
                let values: Vec<String> = values.collect();
                if values.is_empty() { format!("no {name}") } else { values.join(", ") }
            }
            (_, Some(Condition::Grpc(_))) => grpc_outcome(response),
            (_, Some(Condition::Json { pointer, .. })) => {
                match pointer.find(decoder.decoded(response.body)) {
                    Ok(Some(found)) => format!("{pointer} = {found}"),
                    Ok(None) => format!("no {pointer}"),
                    Err(reason) => format!("no JSON: {reason}"),
                }
            }
            (_, Some(Condition::Body(_) | Condition::Same)) => text(decoder.decoded(response.body)),
            (_, Some(Condition::Status(_)) | None) => String::new(),
        };
        MissExample {
            status: response.status,
            expected: expectation
                .map_or_else(|| "status below 400".to_owned(), ToString::to_string),
            found,
        }
    }
}

/// Returns the index of the rule for the status code; `None` if there is none.
fn status_of(expectations: &[Expectation]) -> Result<Option<usize>, ExpectError> {
    single(expectations, |one| matches!(one.condition, Condition::Status(_)))
}

/// Returns the index of the rule that `is_of` selects; `None` if there is none.
fn single(
    expectations: &[Expectation],
    is_of: impl Fn(&Expectation) -> bool,
) -> Result<Option<usize>, ExpectError> {
    let mut rules = expectations.iter().enumerate().filter(|(_, one)| is_of(one));
    let first = rules.next();
    match (first, rules.next()) {
        (Some((_, one)), Some((_, other))) => {
            Err(ExpectError::TwoStatuses(one.to_string(), other.to_string()))
        }
        _ => Ok(first.map(|(index, _)| index)),
    }
}

/// Name in documents of the miss of a response without a status of gRPC.
const NO_GRPC_STATUS: &str = "grpc_no_status";

/// Returns the status of a call of gRPC: of the trailers, or of a head that has no body.
pub fn grpc_status(response: &ReceivedResponse<'_>) -> Option<GrpcStatus> {
    // Trailers come last, and only their status counts.
    GrpcStatus::of_field(named(response.call_fields(), "grpc-status").last()?)
}

/// Returns the reason for which a client fails a call with such a response, whatever its status.
fn grpc_fault(response: &ReceivedResponse<'_>) -> Option<CallFault> {
    response.call?.fault(grpc_status(response)?)
}

/// Returns the status of a call of gRPC and its message, as text.
fn grpc_outcome(response: &ReceivedResponse<'_>) -> String {
    let Some(status) = grpc_status(response) else { return "no grpc-status".to_owned() };
    if let Some(fault) = grpc_fault(response) {
        return format!("{status}, but {fault}");
    }
    match named(response.call_fields(), "grpc-message").last() {
        Some(message) if !message.is_empty() => {
            format!("{status}: {}", text(&percent_decoded(message)))
        }
        _ => status.to_string(),
    }
}

/// True if a response has a field with this name, and with this value if one is given.
fn has_field(response: &ReceivedResponse<'_>, name: &str, value: Option<&String>) -> bool {
    fields(response, name).any(|found| value.is_none_or(|value| value.as_bytes() == found))
}

/// True if a body is JSON that has a value at a place, and this value if one is given.
fn has_value(pointer: &Pointer, value: Option<&Expected>, body: &[u8]) -> bool {
    let found = pointer.find(body).ok().flatten();
    found.is_some_and(|found| value.is_none_or(|value| value.accepts(&found)))
}

/// Returns the values of the fields with a name, in order.
fn fields<'a, 'n>(
    response: &ReceivedResponse<'a>,
    name: &'n str,
) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
    named(response.fields(), name)
}

/// Returns the values of those fields that have a name.
fn named<'a, 'n, F>(fields: F, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n, F>
where
    F: Iterator<Item = (&'a [u8], &'a [u8])>,
{
    fields.filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

/// Returns the beginning of a part of a response, as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(EXAMPLE_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn parsed(texts: &[&str]) -> Vec<Expectation> {
        texts.iter().map(|text| text.parse().expect(text)).collect()
    }

    fn expectations(texts: &[&str]) -> Expectations {
        Expectations::new(&parsed(texts), &[]).expect("they go together")
    }

    fn response<'a>(status: u16, head: &'a str, body: &'a [u8]) -> ReceivedResponse<'a> {
        ReceivedResponse { head: head.as_bytes(), body, ..ReceivedResponse::of_status(status) }
    }

    /// Returns the kind that a response misses, with the example's two texts.
    fn missed(
        expectations: &Expectations,
        response: &ReceivedResponse<'_>,
    ) -> Option<(MissKind, String, String)> {
        let mut decoder = BodyDecoder::new(1_000);
        let first = FirstBodies::new(1);
        let miss = expectations.check(response, &mut decoder, &first, 0).err()?;
        let MissExample { status, expected, found } =
            expectations.example(miss, response, &mut decoder);
        assert_eq!(status, response.status);
        Some((miss.kind, expected, found))
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    const HEAD: &str = "ETag: \"a\"\r\nX-N: 1\r\nx-n:  2 \r\n";

    #[test]
    fn a_response_meets_or_misses_each_expectation() {
        let check = |text: &str, status: u16, body: &str, expected: Option<(MissKind, &str)>| {
            let found = missed(&expectations(&[text]), &response(status, HEAD, body.as_bytes()));
            let found = found.as_ref().map(|(kind, of, found)| {
                assert!(of == text || of == "status below 400", "{of}");
                (*kind, found.as_str())
            });
            assert_eq!(found, expected, "{text}");
        };
        check("status=404", 404, "", None);
        check("status=200-299", 404, "no", Some((MissKind::Status, "")));
        check("header:etag", 200, "", None);
        check("header:etag=\"a\"", 200, "", None);
        check("header:etag=a", 200, "", Some((MissKind::Header, "etag: \"a\"")));
        check("header:X-N=2", 200, "", None);
        check("header:X-N=3", 200, "", Some((MissKind::Header, "X-N: 1, X-N: 2")));
        check("header:age", 200, "", Some((MissKind::Header, "no age")));
        // Without a rule of its own, a status of 400 or above is a miss.
        check("header:etag", 500, "", Some((MissKind::Status, "")));
        check("body~^o.$", 200, "ok", None);
        check("body~^o.$", 399, "no", Some((MissKind::Body, "no")));
        check("body~(?i)ÄB", 200, "äb", None);
        check("json:/a=1", 200, "{\"a\": 1}", None);
        check("json:/a", 200, "{\"a\": null}", None);
        check("json:/a=1", 200, "{\"a\": 2}", Some((MissKind::Json, "/a = 2")));
        check("json:/a=1", 200, "{\"a\": \"x\"}", Some((MissKind::Json, "/a = \"x\"")));
        check("json:/a=1", 200, "{}", Some((MissKind::Json, "no /a")));
        let at = "no JSON: expected value at line 1 column 1";
        check("json:/a=1", 200, "oops", Some((MissKind::Json, at)));
        check("same", 200, "any", None);
    }

    #[test]
    fn own_expectations_add_to_common_ones_and_replace_their_status() {
        let common = parsed(&["status=200", "header:etag"]);
        let check = |own: &[&str], status: u16, expected: Option<MissKind>| {
            let both = Expectations::new(&common, &parsed(own)).expect("they go together");
            let found = missed(&both, &response(status, HEAD, b"x")).map(|(kind, ..)| kind);
            assert_eq!(found, expected, "{own:?} {status}");
        };
        check(&[], 200, None);
        check(&[], 201, Some(MissKind::Status));
        check(&["status=201"], 201, None);
        check(&["status=201"], 200, Some(MissKind::Status));
        check(&["header:age"], 200, Some(MissKind::Header));
        check(&["status=500", "body~y"], 500, Some(MissKind::Body));
        let two = parsed(&["status=200", "status=404"]);
        let error = Expectations::new(&two, &[]).expect_err("two rules").to_string();
        assert!(error.contains("`status=200` and `status=404`"), "{error}");
    }

    #[test]
    fn only_what_decides_is_kept() {
        let check = |texts: &[&str], expected: Interest| {
            assert_eq!(expectations(texts).interest(), expected, "{texts:?}");
        };
        check(&[], Interest::Status);
        check(&["status=200"], Interest::Status);
        check(&["status=200", "header:a"], Interest::Head);
        check(&["header:a", "body~x"], Interest::Body);
        check(&["json:/a"], Interest::Body);
        check(&["same"], Interest::Body);
        assert!(expectations(&["same"]).compares_bodies());
        assert!(!expectations(&["body~x"]).compares_bodies());
    }

    #[test]
    fn bodies_are_read_decoded() {
        let head = "Content-Encoding: gzip\r\n";
        let ok = expectations(&["body~^ok$"]);
        assert_eq!(missed(&ok, &response(200, head, &gzip(b"ok"))), None);
        let (kind, _, found) = missed(&ok, &response(200, head, &gzip(b"no"))).expect("a miss");
        assert_eq!((kind, &found[..]), (MissKind::Body, "no"));
        let (kind, _, found) = missed(&ok, &response(200, head, b"ok")).expect("a miss");
        assert_eq!(kind, MissKind::BodyUndecodable);
        assert!(found.starts_with("it is not valid gzip"), "{found}");
        let (kind, _, found) =
            missed(&ok, &response(200, head, &gzip(&[0; 1_001]))).expect("a miss");
        assert_eq!((kind, &found[..]), (MissKind::BodyTooLarge, "it has more than 1000 bytes"));
        // A status that is not expected spares the decoding.
        let (kind, ..) = missed(&ok, &response(500, head, b"ok")).expect("a miss");
        assert_eq!(kind, MissKind::Status);
    }

    #[test]
    fn the_status_of_a_call_decides() {
        let check = |rule: &str, head: &str, expected: Option<(&str, &str)>| {
            let rules = expectations(&[rule]);
            assert_eq!(rules.interest(), Interest::Head);
            let found = missed(&rules, &response(200, head, b""));
            let found = found.as_ref().map(|(kind, _, found)| (kind.name(), found.as_str()));
            assert_eq!(found, expected, "{rule} {head}");
        };
        let unavailable = "grpc-status: 14\r\ngrpc-message: try%20later\r\n";
        let miss = Some(("grpc_UNAVAILABLE", "UNAVAILABLE (14): try later"));
        check("grpc-status=0", "grpc-status: 0\r\n", None);
        check("grpc-status=0", unavailable, miss);
        check("grpc-status=OK,UNAVAILABLE", unavailable, None);
        check("grpc-status=5", "grpc-status: 0\r\n", Some(("grpc_OK", "OK (0)")));
        check(
            "grpc-status=0",
            "grpc-status: 0\r\ngrpc-status: 99\r\n",
            Some(("grpc_other", "status 99")),
        );
        for head in ["", "content-type: application/grpc\r\n", "grpc-status: x\r\n"] {
            check("grpc-status=0", head, Some(("grpc_no_status", "no grpc-status")));
        }
        let all = Expectations::new(&parsed(&["grpc-status=0"]), &parsed(&["grpc-status=14"]));
        let all = all.expect("its own replaces the common one");
        assert_eq!(missed(&all, &response(200, unavailable, b"")), None);
    }

    #[test]
    fn a_body_that_was_not_kept_whole_is_too_large() {
        let any = expectations(&["body~"]);
        let check = |body: &[u8], part: &str| {
            let cut = ReceivedResponse { is_cut: true, ..response(200, "", body) };
            let (kind, _, found) = missed(&any, &cut).expect("a miss");
            assert_eq!(kind, MissKind::BodyTooLarge);
            assert!(found.contains(part), "{found}");
        };
        check(&[0; 1_001], "more than 1000 bytes");
        check(b"ok", "memory for bodies");
    }

    #[test]
    fn a_body_that_misses_something_else_is_none_that_others_are_compared_with() {
        let rules = expectations(&["same", "body~^[ab]$"]);
        let mut decoder = BodyDecoder::new(10);
        let first = FirstBodies::new(2);
        let mut check = |name: usize, body: &str, expected: Option<MissKind>| {
            let found =
                rules.check(&response(200, "", body.as_bytes()), &mut decoder, &first, name);
            assert_eq!(found.err().map(|miss| miss.kind), expected, "{body}");
        };
        check(0, "x", Some(MissKind::Body));
        check(0, "a", None);
        check(0, "a", None);
        check(0, "b", Some(MissKind::Same));
        check(1, "b", None);
        check(1, "a", Some(MissKind::Same));
    }

    #[test]
    fn examples_are_short() {
        let body = "x".repeat(900) + &"\u{7f}".repeat(9);
        let mut decoder = BodyDecoder::new(1 << 20);
        let rules = expectations(&["body~^y"]);
        let long = body.repeat(100);
        let response = response(200, "", long.as_bytes());
        let miss = rules.check(&response, &mut decoder, &FirstBodies::new(1), 0).expect_err("x");
        assert_eq!(rules.example(miss, &response, &mut decoder).found.len(), EXAMPLE_BYTES);
    }
}
