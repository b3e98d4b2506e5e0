//! TLS: negotiated parameters, handshakes, certificates.

use weir_result::Document;
use weir_result::document::{Certificate, Summary, TlsParameters, TlsSection};
use weir_text::units;

use super::{Block, Fact, Line, Tone};

/// Digits of a certificate's SHA-256 in the report.
const SHA256_SHOWN: usize = 16;

/// Negotiated parameters, and the rate of handshakes if there were some in the window; in a verbose
/// report all handshakes with their times, and the certificates.
pub(super) fn blocks(document: &Document, verbose: bool) -> Option<Block> {
    let tls = document.tls.as_ref().filter(|tls| tls.handshakes() > 0);
    let times = document.latency.tls_handshake.as_ref().map(|metric| &metric.ok);
    let mut lines = Vec::new();
    lines.extend(tls.map(|tls| negotiated(tls, verbose)).unwrap_or_default());
    lines.extend(tls.and_then(rate));
    if verbose {
        lines.extend(times.map(|times| handshakes(tls, times)));
        let certificates = tls.map_or(&[][..], |tls| &tls.certificates);
        lines.extend(certificates.iter().flat_map(certificate));
    }
    (!lines.is_empty()).then(|| Block::entry("TLS", lines))
}

/// The most frequent parameters, or all of them.
fn negotiated(tls: &TlsSection, verbose: bool) -> Vec<Line> {
    let several = tls.negotiated.len() > 1;
    let shown = if verbose { tls.negotiated.len() } else { 1 };
    let line = |parameters: &TlsParameters| {
        let mut facts = vec![Fact::text(&parameters.version), Fact::text(&parameters.cipher)];
        facts.extend(parameters.group.iter().chain(&parameters.alpn).map(Fact::text));
        if several {
            facts.push(Fact::counted(parameters.handshakes, "handshake"));
        }
        Line::facts(facts)
    };
    tls.negotiated.iter().take(shown).map(line).collect()
}

/// Handshakes per second, if connections were opened in the window.
fn rate(tls: &TlsSection) -> Option<Line> {
    (tls.in_window > 0).then(|| {
        let rate = Fact::named("handshakes", units::round_rate(tls.handshakes_per_second));
        Line::facts([vec![rate], kinds(tls)].concat())
    })
}

/// Number and duration of all handshakes.
fn handshakes(tls: Option<&TlsSection>, times: &Summary) -> Line {
    let mut facts = vec![Fact::counted(times.count, "handshake")];
    // The line of the rate has them already.
    facts.extend(tls.filter(|tls| tls.in_window == 0).map(kinds).unwrap_or_default());
    facts.extend(Fact::times(times));
    Line::facts(facts)
}

/// Kinds of handshakes besides the usual one.
fn kinds(tls: &TlsSection) -> Vec<Fact> {
    let mut kinds = Vec::new();
    if tls.resumed > 0 {
        kinds.push(Fact::named("resumed", units::count(tls.resumed)));
        kinds.push(Fact::named("full", units::count(tls.full)));
    }
    if tls.hello_retry_requests > 0 {
        kinds.push(Fact::named("HelloRetryRequest", units::count(tls.hello_retry_requests)));
    }
    if tls.not_resumed > 0 {
        let fact = Fact::named("not resumed", units::count(tls.not_resumed));
        kinds.push(fact.toned(Tone::Caution));
    }
    kinds
}

/// A certificate: what it is recognised by.
fn certificate(certificate: &Certificate) -> Vec<Line> {
    let Certificate { subject, issuer, names, not_before, not_after, key, sha256 } = certificate;
    let day = |time: &str| time.split('T').next().unwrap_or_default().to_owned();
    let of_issuer = if issuer == subject { String::new() } else { format!(" by {issuer}") };
    // Enough to tell two certificates apart; the document has all of it.
    let sha256 = sha256.get(..SHA256_SHOWN).unwrap_or(sha256);
    let from = day(not_before);
    let until = day(not_after);
    let text =
        format!("certificate {subject}{of_issuer}: {key}, {from} to {until}, SHA-256 {sha256}…");
    let names = (!names.is_empty()).then(|| format!("for {}", names.join(", ")));
    [Some(text), names].into_iter().flatten().map(|text| Line::sentence(Fact::text(text))).collect()
}
