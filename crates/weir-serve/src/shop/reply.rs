//! A response of the shop, and the reason for which a request is refused. It decides nothing.

use std::borrow::Cow;
use std::sync::Arc;

use super::rules::BrokenRule;

/// Fields for which a response has room before it grows.
const FIELDS_USUAL: usize = 4;

/// A response of the shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShopReply {
    pub(crate) status: u16,
    /// Names and values, as HTTP/1 writes them.
    pub(crate) fields: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) body: Arc<[u8]>,
}

impl ShopReply {
    /// Makes a response without a body.
    pub(super) fn empty(status: u16) -> ShopReply {
        ShopReply { status, fields: Vec::with_capacity(FIELDS_USUAL), body: Arc::default() }
            .with("Cache-Control", "no-store")
    }

    pub(super) fn json(status: u16, body: impl Into<Arc<[u8]>>) -> ShopReply {
        ShopReply::text(status, "application/json", body)
    }

    pub(super) fn page(body: String) -> ShopReply {
        ShopReply::text(200, "text/html; charset=utf-8", body.into_bytes())
    }

    fn text(status: u16, media_type: &'static str, body: impl Into<Arc<[u8]>>) -> ShopReply {
        let reply = ShopReply { body: body.into(), ..ShopReply::empty(status) };
        reply.with("Content-Type", media_type)
    }

    /// Adds a field.
    pub(super) fn with(
        mut self,
        name: &'static str,
        value: impl Into<Cow<'static, str>>,
    ) -> ShopReply {
        self.fields.push((name, value.into()));
        self
    }
}

/// The reason for which a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: u16,
    reason: &'static str,
    /// The rule that the request breaks, unless it is only not understood.
    pub(super) rule: Option<BrokenRule>,
}

impl Refusal {
    /// The path does not exist, or nothing is there.
    pub(super) const NOT_FOUND: Refusal = Refusal::new(404, "not_found");
    /// The path has other methods.
    pub(super) const METHOD: Refusal = Refusal::new(405, "method_not_allowed");
    /// The body is larger than the shop reads.
    pub(super) const TOO_LARGE: Refusal = Refusal::new(413, "body_too_large");
    /// The body is no form by its media type.
    pub(super) const NO_FORM: Refusal = Refusal::new(415, "no_form");
    /// The body is not the JSON that the endpoint takes.
    pub(super) const BAD_JSON: Refusal = Refusal::new(400, "bad_json");
    /// The query has no page of this number.
    pub(super) const BAD_PAGE: Refusal = Refusal::new(400, "bad_page");

    const fn new(status: u16, reason: &'static str) -> Refusal {
        Refusal { status, reason, rule: None }
    }

    /// Returns the response: its reason as JSON.
    pub(super) fn reply(self) -> ShopReply {
        let reply = ShopReply::json(
            self.status,
            format!("{{\"error\":\"{}\"}}\n", self.reason).into_bytes(),
        );
        match self.rule.is_some_and(BrokenRule::is_of_tokens) {
            // RFC 6750 §3. For sessions in cookies there is no challenge.
            true => reply.with("WWW-Authenticate", "Bearer"),
            false => reply,
        }
    }
}

impl From<BrokenRule> for Refusal {
    fn from(rule: BrokenRule) -> Refusal {
        Refusal { status: rule.status(), reason: rule.name(), rule: Some(rule) }
    }
}
