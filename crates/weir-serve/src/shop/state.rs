//! The sessions, tokens and carts of the shop, and its counters. Reads no clock: `now` and
//! `sent_at` are arguments.

use weir_io::Nanos;

use super::endpoint::ShopEndpoint;
use super::ids::{CartId, ShopId};
use super::latest_items::LatestItems;
use super::options::ShopOptions;
use super::rules::{BrokenRule, RuleSet};
use super::stats::ShopStats;
use crate::draws::Draws;
use crate::units::span_ns;

/// Largest number of sessions, of tokens and of carts that are kept.
const KEPT_MAX: usize = 1_000_000;

/// State of the shop.
#[derive(Debug)]
pub(super) struct ShopState {
    ids: Draws,
    ids_made: u64,
    pub(super) token_ttl_ns: u64,
    sessions: LatestItems<ShopSession>,
    tokens: LatestItems<ShopToken>,
    carts: LatestItems<ShopCart>,
    counts: ShopStats,
}

/// A session. It is kept after its end, so that a client that still sends its cookie is recognised.
#[derive(Debug)]
pub(super) struct ShopSession {
    /// Secret of its id; another one after each log-in.
    secret: u64,
    /// CSRF token of its forms.
    pub(super) csrf: u64,
    /// Name of the user who is logged in.
    pub(super) user: Option<Box<str>>,
    /// Time of the response that set the cookie `flash`.
    pub(super) flash_at: Option<Nanos>,
    /// Time of the response that ended it.
    ended_at: Option<Nanos>,
}

#[derive(Debug)]
struct ShopToken {
    secret: u64,
    /// Number of its session, if it has one.
    owner: Option<u64>,
    expires_at: Nanos,
}

#[derive(Debug)]
struct ShopCart {
    secret: u64,
    /// Number of its session, if it has one.
    owner: Option<u64>,
    /// Products with their quantities, each product once.
    lines: Vec<(u64, u64)>,
}

impl ShopState {
    /// Makes a shop whose ids are drawn from `ids`.
    pub(super) fn new(options: &ShopOptions, ids: Draws) -> ShopState {
        ShopState {
            ids,
            ids_made: 0,
            token_ttl_ns: span_ns(options.token_ttl),
            sessions: LatestItems::new(KEPT_MAX),
            tokens: LatestItems::new(KEPT_MAX),
            carts: LatestItems::new(KEPT_MAX),
            counts: ShopStats::default(),
        }
    }

    /// Counts a request.
    pub(super) fn count(&mut self, endpoint: ShopEndpoint) {
        self.counts.requests[endpoint as usize] += 1;
    }

    /// Counts the rules that a request has broken.
    pub(super) fn count_broken(&mut self, broken: RuleSet) {
        for ((rule, _), count) in BrokenRule::ALL.iter().zip(&mut self.counts.broken) {
            *count += u64::from(broken.contains(*rule));
        }
    }

    pub(super) fn stats(&self) -> &ShopStats {
        &self.counts
    }

    fn draw(&mut self) -> u64 {
        self.ids_made += 1;
        self.ids.nested(self.ids_made).bits(0)
    }

    /// Returns the number of the session with this id. A client that sends the id at `now`, after
    /// the response that ended the session, breaks the rule of expired cookies.
    pub(super) fn find_session(&self, id: Option<&str>, now: Nanos) -> Result<u64, BrokenRule> {
        let id = id.ok_or(BrokenRule::SessionMissing)?;
        let id: ShopId = id.parse().map_err(|()| BrokenRule::SessionUnknown)?;
        let session = self.sessions.find(id.number).filter(|own| own.secret == id.secret);
        match session.ok_or(BrokenRule::SessionUnknown)?.ended_at {
            None => Ok(id.number),
            Some(ended_at) if now > ended_at => Err(BrokenRule::CookieExpired),
            Some(_) => Err(BrokenRule::SessionUnknown),
        }
    }

    /// Returns a session that has not ended.
    pub(super) fn session(&self, number: u64) -> Option<&ShopSession> {
        self.sessions.find(number).filter(|session| session.ended_at.is_none())
    }

    /// Begins a session. Returns its id and its CSRF token.
    pub(super) fn begin_session(&mut self) -> (ShopId, u64) {
        let id = ShopId { number: self.sessions.next_number(), secret: self.draw() };
        let csrf = self.draw();
        let session =
            ShopSession { secret: id.secret, csrf, user: None, flash_at: None, ended_at: None };
        let dropped = self.sessions.push(session);
        self.counts.sessions_made += 1;
        self.counts.sessions_live += 1;
        if dropped.is_some_and(|dropped| dropped.ended_at.is_none()) {
            self.counts.sessions_live -= 1;
        }
        (id, csrf)
    }

    /// Logs a user in, with a response at `sent_at`. Returns the new id of the session; the old one
    /// is gone.
    pub(super) fn log_in(&mut self, number: u64, user: &str, sent_at: Nanos) -> ShopId {
        let secret = self.draw();
        let csrf = self.draw();
        if let Some(session) = self.sessions.find_mut(number) {
            session.secret = secret;
            session.csrf = csrf;
            session.user = Some(user.into());
            session.flash_at = Some(sent_at);
        }
        self.counts.logins += 1;
        ShopId { number, secret }
    }

    /// Ends a session that has not ended, with a response at `sent_at`.
    pub(super) fn end_session(&mut self, number: u64, sent_at: Nanos) {
        if let Some(session) = self.sessions.find_mut(number) {
            session.ended_at = Some(sent_at);
            session.user = None;
            self.counts.sessions_live -= 1;
        }
    }

    /// Makes a token for a session, or for none, in a response at `sent_at`.
    pub(super) fn make_token(&mut self, owner: Option<u64>, sent_at: Nanos) -> ShopId {
        let id = ShopId { number: self.tokens.next_number(), secret: self.draw() };
        let expires_at = sent_at.after(self.token_ttl_ns);
        self.tokens.push(ShopToken { secret: id.secret, owner, expires_at });
        self.counts.tokens += 1;
        id
    }

    /// Checks that a token holds at `now`, for a request with this session.
    pub(super) fn check_token(
        &self,
        token: Option<&str>,
        session: Option<u64>,
        now: Nanos,
    ) -> Result<(), BrokenRule> {
        let token = token.ok_or(BrokenRule::TokenMissing)?;
        let id: ShopId = token.parse().map_err(|()| BrokenRule::TokenUnknown)?;
        let token = self.tokens.find(id.number).filter(|own| own.secret == id.secret);
        let token = token.ok_or(BrokenRule::TokenUnknown)?;
        let is_foreign = session.is_some() && token.owner.is_some() && token.owner != session;
        if now > token.expires_at {
            Err(BrokenRule::TokenExpired)
        } else if is_foreign {
            Err(BrokenRule::TokenForeign)
        } else {
            Ok(())
        }
    }

    /// Makes an empty cart for a session, or for none.
    pub(super) fn make_cart(&mut self, owner: Option<u64>) -> CartId {
        let secret = self.draw() % CartId::SECRETS;
        let id = CartId { number: self.carts.next_number(), secret };
        self.carts.push(ShopCart { secret, owner, lines: Vec::new() });
        id
    }

    /// Returns the cart with this id, for a request with this session. A cart is gone once its
    /// session is.
    pub(super) fn find_cart(
        &self,
        id: Option<&str>,
        session: Option<u64>,
    ) -> Result<CartId, BrokenRule> {
        let id = id.and_then(|id| id.parse().ok());
        let id: CartId = id.ok_or(BrokenRule::CartMissing)?;
        let cart = self.carts.find(id.number).filter(|own| own.secret == id.secret);
        let owner = cart.ok_or(BrokenRule::CartMissing)?.owner;
        match owner {
            Some(owner) if self.session(owner).is_none() => Err(BrokenRule::CartMissing),
            Some(owner) if session != Some(owner) => Err(BrokenRule::CartForeign),
            Some(_) | None => Ok(id),
        }
    }

    /// Returns products and quantities of a cart.
    pub(super) fn cart_lines(&self, id: CartId) -> &[(u64, u64)] {
        self.carts.find(id.number).map_or(&[], |cart| &cart.lines)
    }

    /// Adds a product to a cart.
    pub(super) fn add_to_cart(&mut self, id: CartId, product: u64, quantity: u64) {
        let Some(cart) = self.carts.find_mut(id.number) else { return };
        match cart.lines.iter_mut().find(|(own, _)| *own == product) {
            Some((_, sum)) => *sum = sum.saturating_add(quantity),
            None => cart.lines.push((product, quantity)),
        }
    }

    /// Orders a cart, which is gone then. Returns the number of the order, from 1.
    pub(super) fn order(&mut self, id: CartId) -> u64 {
        self.carts.take(id.number);
        self.counts.orders += 1;
        self.counts.orders
    }
}
