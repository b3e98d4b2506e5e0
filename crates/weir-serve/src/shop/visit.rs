//! A request in the shop, beside the state that it finds: the session that it names, and the rules
//! of cookies that it breaks. How endpoints respond is unknown here.

use weir_io::Nanos;

use super::cookies::{SentCookies, ShopCookie};
use super::endpoint::ShopEndpoint;
use super::request::ShopRequest;
use super::rules::{BrokenRule, RuleSet};
use super::state::{ShopSession, ShopState};

/// Time after its response from which the cookie `flash`, which expires after one second, must not
/// be sent. The rest is for its way to the client and for the request's way back.
const FLASH_NS: u64 = 1_500_000_000;

/// A request, and the state of the shop that it changes.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    pub(super) request: &'a ShopRequest,
    pub(super) cookies: SentCookies<'a>,
    pub(super) state: &'a mut ShopState,
    /// Number of the session that the request names, or the reason why it has none.
    session: Result<u64, BrokenRule>,
    /// True if the connection has TLS.
    pub(super) is_tls: bool,
    /// Time at which the request was read.
    pub(super) now: Nanos,
    /// Time at which its response is due.
    pub(super) sent_at: Nanos,
}

impl<'a> Visit<'a> {
    pub(super) fn new(
        request: &'a ShopRequest,
        state: &'a mut ShopState,
        is_tls: bool,
        now: Nanos,
        sent_at: Nanos,
    ) -> Visit<'a> {
        let cookies = SentCookies::read(&request.cookies);
        let session = state.find_session(cookies.value(ShopCookie::Session), now);
        Visit { request, cookies, state, session, is_tls, now, sent_at }
    }

    /// Returns the number of the session, if the request names one that exists.
    pub(super) fn session(&self) -> Option<u64> {
        self.session.ok()
    }

    /// Returns the number and the state of the session.
    ///
    /// # Errors
    /// The request names none, or one that does not exist.
    pub(super) fn known_session(&self) -> Result<(u64, &ShopSession), BrokenRule> {
        let number = self.session?;
        let session = self.state.session(number).ok_or(BrokenRule::SessionUnknown)?;
        Ok((number, session))
    }

    /// Returns the number of the session and the user who is logged in with it.
    ///
    /// # Errors
    /// The request names no session that exists, or no user is logged in with it.
    pub(super) fn user_session(&self) -> Result<(u64, &str), BrokenRule> {
        let (number, session) = self.known_session()?;
        let user = session.user.as_deref().ok_or(BrokenRule::SessionMissing)?;
        Ok((number, user))
    }

    /// Returns the rules of cookies that the request breaks.
    pub(super) fn broken_rules(&self, endpoint: ShopEndpoint) -> RuleSet {
        let lacks = |cookie| self.cookies.value(cookie).is_none();
        let flash_at = self.known_session().ok().and_then(|(_, session)| session.flash_at);
        let is_flash_over = flash_at.is_some_and(|at| self.now > at.after(FLASH_NS));
        let is_flash_late = is_flash_over && !lacks(ShopCookie::Flash);
        let is_session_late = self.session == Err(BrokenRule::CookieExpired);
        let lacks_seen = endpoint == ShopEndpoint::Account && lacks(ShopCookie::Seen);
        let lacks_tls = self.is_tls && lacks(ShopCookie::Tls);
        let is_user = self.user_session().is_ok();
        let mut broken = self.cookies.broken_rules(self.request.path(), self.is_tls);
        broken.add_if(is_flash_late || is_session_late, BrokenRule::CookieExpired);
        broken.add_if(is_user && (lacks_seen || lacks_tls), BrokenRule::CookieMissing);
        broken
    }
}
