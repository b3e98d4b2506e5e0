//! The rules that a client can break, and sets of them. How a rule is checked is unknown here.

/// A rule that a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenRule {
    /// The endpoint needs a session, or one that is logged in, and the request has none.
    SessionMissing,
    /// The endpoint needs a session, and the request names one that does not exist any more, or
    /// never did.
    SessionUnknown,
    /// The form has not the CSRF token of its session.
    CsrfWrong,
    /// User or password are empty or wrong.
    CredentialsWrong,
    /// The endpoint needs a bearer token, and the request has none.
    TokenMissing,
    /// The token was never given.
    TokenUnknown,
    /// The token has expired.
    TokenExpired,
    /// The token belongs to another session than the request's.
    TokenForeign,
    /// The request names no cart, or one that is gone.
    CartMissing,
    /// The cart belongs to another session than the request's, or the request has none.
    CartForeign,
    /// A cookie was sent outside of its path (RFC 6265 §5.1.4).
    CookieOutOfPath,
    /// A cookie was sent after it had expired, or had been removed (RFC 6265 §5.3).
    CookieExpired,
    /// A cookie that was set for this request was not sent (RFC 6265 §5.4).
    CookieMissing,
    /// A cookie with `Secure` was sent without TLS (RFC 6265 §5.4).
    CookieInsecure,
    /// A cookie was sent twice: two of one name, domain and path (RFC 6265 §5.3).
    CookieTwice,
}

impl BrokenRule {
    /// All rules with their names, in the order of their values.
    pub(super) const ALL: [(BrokenRule, &'static str); 15] = [
        (BrokenRule::SessionMissing, "session_missing"),
        (BrokenRule::SessionUnknown, "session_unknown"),
        (BrokenRule::CsrfWrong, "csrf_wrong"),
        (BrokenRule::CredentialsWrong, "credentials_wrong"),
        (BrokenRule::TokenMissing, "token_missing"),
        (BrokenRule::TokenUnknown, "token_unknown"),
        (BrokenRule::TokenExpired, "token_expired"),
        (BrokenRule::TokenForeign, "token_foreign"),
        (BrokenRule::CartMissing, "cart_missing"),
        (BrokenRule::CartForeign, "cart_foreign"),
        (BrokenRule::CookieOutOfPath, "cookie_out_of_path"),
        (BrokenRule::CookieExpired, "cookie_expired"),
        (BrokenRule::CookieMissing, "cookie_missing"),
        (BrokenRule::CookieInsecure, "cookie_insecure"),
        (BrokenRule::CookieTwice, "cookie_twice"),
    ];

    pub(super) fn name(self) -> &'static str {
        BrokenRule::ALL[self as usize].1
    }

    /// Returns the status of a request that is refused for it.
    pub(super) fn status(self) -> u16 {
        match self {
            BrokenRule::CsrfWrong | BrokenRule::TokenForeign | BrokenRule::CartForeign => 403,
            BrokenRule::CartMissing => 404,
            _ => 401,
        }
    }

    /// True if the request lacks a bearer token that holds.
    pub(super) fn is_of_tokens(self) -> bool {
        let of_tokens =
            [BrokenRule::TokenMissing, BrokenRule::TokenUnknown, BrokenRule::TokenExpired];
        of_tokens.contains(&self)
    }
}

/// Rules that one request breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RuleSet(u16);

impl RuleSet {
    /// Adds a rule, if the request breaks it.
    pub(super) fn add_if(&mut self, breaks: bool, rule: BrokenRule) {
        self.0 |= u16::from(breaks) << rule as u16;
    }

    pub(super) fn contains(self, rule: BrokenRule) -> bool {
        self.0 & 1 << rule as u16 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_the_order_of_their_values() {
        for (place, (rule, name)) in BrokenRule::ALL.into_iter().enumerate() {
            assert_eq!((rule as usize, rule.name()), (place, name));
        }
    }

    #[test]
    fn a_set_has_the_rules_that_were_added() {
        let mut set = RuleSet::default();
        set.add_if(true, BrokenRule::CookieTwice);
        set.add_if(true, BrokenRule::SessionMissing);
        set.add_if(false, BrokenRule::CsrfWrong);
        let rules = BrokenRule::ALL.map(|(rule, _)| rule);
        let found: Vec<_> = rules.into_iter().filter(|rule| set.contains(*rule)).collect();
        assert_eq!(found, [BrokenRule::SessionMissing, BrokenRule::CookieTwice]);
    }
}
