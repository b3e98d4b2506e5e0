//! The shop's cookies: as they are set, those of a request, and the rules of RFC 6265 that one
//! request alone shows to be broken.

use super::rules::{BrokenRule, RuleSet};

/// A cookie that the shop sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShopCookie {
    /// The id of the session.
    Session,
    /// Set with a log-in.
    Seen,
    /// Set with a log-in, for one second.
    Flash,
    /// The id of the cart.
    Cart,
    /// Set with a log-in over TLS.
    Tls,
}

impl ShopCookie {
    const ALL: [ShopCookie; 5] = [
        ShopCookie::Session,
        ShopCookie::Seen,
        ShopCookie::Flash,
        ShopCookie::Cart,
        ShopCookie::Tls,
    ];

    fn name(self) -> &'static str {
        match self {
            ShopCookie::Session => "session",
            ShopCookie::Seen => "seen",
            ShopCookie::Flash => "flash",
            ShopCookie::Cart => "cart",
            ShopCookie::Tls => "tls",
        }
    }

    fn path(self) -> &'static str {
        match self {
            ShopCookie::Session | ShopCookie::Tls => "/",
            ShopCookie::Seen | ShopCookie::Flash => "/account",
            ShopCookie::Cart => "/api/cart",
        }
    }

    /// Returns the value of the `Set-Cookie` field that sets it.
    pub(super) fn set(self, value: &str) -> String {
        let more = match self {
            ShopCookie::Session => "; HttpOnly",
            ShopCookie::Seen | ShopCookie::Cart => "",
            ShopCookie::Flash => "; Max-Age=1",
            ShopCookie::Tls => "; Secure",
        };
        format!("{}={value}; Path={}{more}", self.name(), self.path())
    }

    /// Returns the value of the `Set-Cookie` field that removes it.
    pub(super) fn removed(self) -> String {
        format!("{}=; Path={}; Max-Age=0", self.name(), self.path())
    }

    /// True if a client sends it with requests for this path (RFC 6265 §5.1.4).
    fn is_of(self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.path().as_bytes());
        rest.is_some_and(|rest| {
            self.path().ends_with('/') || rest.is_empty() || rest.starts_with(b"/")
        })
    }
}

/// The shop's cookies in a request; those of others are left out.
#[derive(Debug, Default)]
pub(super) struct SentCookies<'a> {
    /// Values in the order of the cookies: of one that is there twice, the first.
    values: [Option<&'a str>; ShopCookie::ALL.len()],
    /// True if one is there twice.
    has_twice: bool,
}

impl<'a> SentCookies<'a> {
    /// Reads the value of a `Cookie` field (RFC 6265 §4.2.1).
    pub(super) fn read(field: &'a [u8]) -> SentCookies<'a> {
        let mut cookies = SentCookies::default();
        for pair in field.split(|&byte| byte == b';').map(<[u8]>::trim_ascii) {
            let Some(equals) = memchr::memchr(b'=', pair) else { continue };
            let is_named = |cookie: &ShopCookie| cookie.name().as_bytes() == &pair[..equals];
            let Some(cookie) = ShopCookie::ALL.into_iter().find(is_named) else { continue };
            let value = str::from_utf8(&pair[equals + 1..]).unwrap_or_default();
            let place = &mut cookies.values[cookie as usize];
            cookies.has_twice |= place.is_some();
            place.get_or_insert(value);
        }
        cookies
    }

    /// Returns the value of a cookie.
    pub(super) fn value(&self, cookie: ShopCookie) -> Option<&'a str> {
        self.values[cookie as usize]
    }

    /// Returns the rules that a request for `path` with these cookies breaks.
    pub(super) fn broken_rules(&self, path: &[u8], is_tls: bool) -> RuleSet {
        let is_sent = |cookie| self.value(cookie).is_some();
        let is_outside = |cookie: &ShopCookie| is_sent(*cookie) && !cookie.is_of(path);
        let mut broken = RuleSet::default();
        broken.add_if(ShopCookie::ALL.iter().any(is_outside), BrokenRule::CookieOutOfPath);
        broken.add_if(is_sent(ShopCookie::Tls) && !is_tls, BrokenRule::CookieInsecure);
        broken.add_if(self.has_twice, BrokenRule::CookieTwice);
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_set_with_their_attributes() {
        let check = |cookie: ShopCookie, value: &str, expected: &str| {
            assert_eq!(cookie.set(value), expected);
        };
        check(ShopCookie::Session, "1", "session=1; Path=/; HttpOnly");
        check(ShopCookie::Seen, "1", "seen=1; Path=/account");
        check(ShopCookie::Flash, "welcome", "flash=welcome; Path=/account; Max-Age=1");
        check(ShopCookie::Cart, "7", "cart=7; Path=/api/cart");
        check(ShopCookie::Tls, "1", "tls=1; Path=/; Secure");
        assert_eq!(ShopCookie::Session.removed(), "session=; Path=/; Max-Age=0");
        for (place, cookie) in ShopCookie::ALL.into_iter().enumerate() {
            assert_eq!(cookie as usize, place);
        }
    }

    #[test]
    fn cookies_are_read() {
        let check = |field: &str, expected: [Option<&str>; 5], has_twice: bool| {
            let cookies = SentCookies::read(field.as_bytes());
            assert_eq!((cookies.values, cookies.has_twice), (expected, has_twice), "{field}");
        };
        check("", [None; 5], false);
        check("session=a", [Some("a"), None, None, None, None], false);
        check(
            "x=y; tls=1;seen=; cart=a=b ;flash",
            [None, Some(""), None, Some("a=b"), Some("1")],
            false,
        );
        check("session=a; Session=b", [Some("a"), None, None, None, None], false);
        check("session=a; session=b", [Some("a"), None, None, None, None], true);
    }

    #[test]
    fn rules_that_show_in_one_request() {
        let check = |path: &str, field: &str, is_tls: bool, expected: &[BrokenRule]| {
            let broken = SentCookies::read(field.as_bytes()).broken_rules(path.as_bytes(), is_tls);
            let rules = BrokenRule::ALL.map(|(rule, _)| rule);
            let found: Vec<_> = rules.into_iter().filter(|rule| broken.contains(*rule)).collect();
            assert_eq!(found, expected, "{path} {field}");
        };
        let all = "session=a; seen=1; flash=welcome; cart=7; tls=1";
        check("/account", "session=a; seen=1; flash=welcome; tls=1", true, &[]);
        check("/account/", "session=a; seen=1", false, &[]);
        check("/api/cart", "session=a; cart=7", false, &[]);
        check("/", all, true, &[BrokenRule::CookieOutOfPath]);
        check("/accounts", "seen=1", false, &[BrokenRule::CookieOutOfPath]);
        check("/api/orders", "cart=7", false, &[BrokenRule::CookieOutOfPath]);
        check("/", "tls=1", false, &[BrokenRule::CookieInsecure]);
        check("/", "session=a; session=a", false, &[BrokenRule::CookieTwice]);
        check(
            "/login",
            "tls=1; tls=1; flash=x",
            false,
            &[BrokenRule::CookieOutOfPath, BrokenRule::CookieInsecure, BrokenRule::CookieTwice],
        );
    }
}
