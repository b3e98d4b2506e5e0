//! The counters of the shop, as JSON and as a line of text.

use super::endpoint::ShopEndpoint;
use super::rules::BrokenRule;

/// Counters of the shop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShopStats {
    /// Requests by endpoint, in the order of [`ShopStats::requests`].
    pub(super) requests: [u64; ShopEndpoint::ALL.len()],
    /// Sessions begun.
    pub sessions_made: u64,
    /// Sessions that have neither been ended nor dropped; subset of `sessions_made`.
    pub sessions_live: u64,
    /// Log-ins that succeeded.
    pub logins: u64,
    /// Tokens given.
    pub tokens: u64,
    /// Orders accepted.
    pub orders: u64,
    /// Requests that broke each rule, in the order of [`ShopStats::broken`].
    pub(super) broken: [u64; BrokenRule::ALL.len()],
}

impl ShopStats {
    /// Returns the requests of each endpoint with its name, `GET /api/products/{id}`; `other` are
    /// those of no endpoint.
    pub fn requests(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ShopEndpoint::ALL.iter().map(|(_, name)| *name).zip(self.requests)
    }

    /// Returns the requests that broke each rule, with its name. A request is counted once for each
    /// rule that it breaks.
    pub fn broken(&self) -> impl Iterator<Item = (&'static str, u64)> {
        BrokenRule::ALL.iter().map(|(_, name)| *name).zip(self.broken)
    }

    /// Returns the counters as one JSON object on one line.
    pub fn to_json(&self) -> String {
        format!(
            "{{\"requests\":{},\"sessions\":{{\"made\":{},\"live\":{}}},\"logins\":{},\
             \"tokens\":{},\"orders\":{},\"broken\":{}}}",
            json_object(self.requests()),
            self.sessions_made,
            self.sessions_live,
            self.logins,
            self.tokens,
            self.orders,
            json_object(self.broken()),
        )
    }

    /// Returns the broken rules as a line: `rules broken: none`, or those with a count.
    pub fn broken_line(&self) -> String {
        let counts = self.broken().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts.map(|(name, count)| format!("{name} {count}")).collect();
        match counts.is_empty() {
            true => "rules broken: none".to_owned(),
            false => format!("rules broken: {}", counts.join(", ")),
        }
    }
}

/// Returns counts as a JSON object. No name has characters that JSON escapes.
fn json_object(counts: impl Iterator<Item = (&'static str, u64)>) -> String {
    let fields: Vec<String> = counts.map(|(name, count)| format!("\"{name}\":{count}")).collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_written() {
        let mut stats = ShopStats { sessions_made: 5, sessions_live: 4, ..ShopStats::default() };
        assert_eq!(stats.broken_line(), "rules broken: none");
        stats.requests[ShopEndpoint::Product as usize] = 7;
        stats.broken[BrokenRule::CsrfWrong as usize] = 3;
        stats.broken[BrokenRule::CookieTwice as usize] = 1;
        assert_eq!(stats.broken_line(), "rules broken: csrf_wrong 3, cookie_twice 1");
        let json = stats.to_json();
        for part in [
            "{\"requests\":{\"GET /\":0,\"GET /login\":0,",
            "\"GET /api/products/{id}\":7,",
            "\"other\":0},\"sessions\":{\"made\":5,\"live\":4},\"logins\":0,\"tokens\":0,",
            "\"orders\":0,\"broken\":{\"session_missing\":0,",
            "\"csrf_wrong\":3,",
            "\"cookie_twice\":1}}",
        ] {
            assert!(json.contains(part), "{json}");
        }
    }
}
