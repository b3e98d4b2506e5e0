//! The objective of a search: one or more claims. A rate must meet them all.

use std::fmt;
use std::str::FromStr;

use weir_result::study::SearchClaim;
use weir_result::{Document, Plan};
use weir_stats::SliceTail;
use weir_verdict::{AssertionError, ShareClaim, split_conditions};

/// Claims that a rate must meet: `p99 < 10ms`, `p99 < 10ms and errors < 0.1%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    claims: Vec<ShareClaim>,
}

impl FromStr for Objective {
    type Err = AssertionError;

    /// Parses claims joined by `and`. A name applies to the claim that it precedes.
    fn from_str(text: &str) -> Result<Objective, AssertionError> {
        let claims = split_conditions(text).into_iter().map(str::parse);
        Ok(Objective { claims: claims.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Objective {
    /// Writes the claims as they were given, joined by `and`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims: Vec<&str> = self.claims.iter().map(ShareClaim::text).collect();
        f.write_str(&claims.join(" and "))
    }
}

impl Objective {
    /// Returns the claims, in the order in which they were written.
    pub fn claims(&self) -> &[ShareClaim] {
        &self.claims
    }

    /// Checks that a plan has requests with each name of the claims, and keeps their slices.
    ///
    /// # Errors
    /// When it does not; the message has the remedy.
    pub fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        self.claims.iter().try_for_each(|claim| claim.check(plan))
    }

    /// Returns the greatest time that a claim limits, in nanoseconds; `None` if none does.
    pub fn slow_ns(&self) -> Option<u64> {
        self.claims.iter().filter_map(ShareClaim::slow_ns).max()
    }

    /// Returns the limits of the shares, in the order of the claims.
    pub(super) fn shares_max(&self) -> Vec<f64> {
        self.claims.iter().map(ShareClaim::share_max).collect()
    }

    /// Returns the least share of all requests of a load that may violate a claim at its limit: a
    /// claim about a name is violated by its own requests alone. `document` is of the load.
    pub(super) fn strictest(&self, document: &Document) -> f64 {
        // A name without a request yet may have one in each trial.
        let least = 1.0 / document.results.planned.max(1) as f64;
        let share = |claim: &ShareClaim| claim.requests_share(document).max(least);
        let shares = self.claims.iter().map(|claim| claim.share_max() * share(claim));
        shares.fold(1.0, f64::min)
    }

    /// Returns the slices of a document for each claim.
    pub(super) fn tails(&self, document: &Document) -> Vec<Vec<SliceTail>> {
        self.claims.iter().map(|claim| claim.tails(document)).collect()
    }

    pub(super) fn to_result(&self) -> Vec<SearchClaim> {
        let result = |claim: &ShareClaim| SearchClaim {
            text: claim.text().to_owned(),
            share_max: claim.share_max(),
            slow_ns: claim.slow_ns(),
        };
        self.claims.iter().map(result).collect()
    }
}

/// Returns the share of requests that violate a claim.
pub(super) fn share_of(slices: &[SliceTail]) -> f64 {
    let sum = |of: fn(&SliceTail) -> u64| slices.iter().map(of).sum::<u64>() as f64;
    sum(|slice| slice.beyond) / sum(|slice| slice.count).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_joined_by_and() {
        let check = |text: &str, claims: &[&str]| {
            let objective: Objective = text.parse().expect(text);
            let found: Vec<&str> = objective.claims().iter().map(ShareClaim::text).collect();
            assert_eq!(found, claims, "{text}");
            assert_eq!(objective.to_string(), claims.join(" and "));
        };
        check("p99 < 10ms", &["p99 < 10ms"]);
        check("p99<10ms and errors < 0.1%", &["p99<10ms", "errors < 0.1%"]);
        let named = "checkout: p99 < 50ms and errors < 0.1%";
        check(named, &["checkout: p99 < 50ms", "errors < 0.1%"]);
        let both = "p99 < 1s and GET /a: p99 < 5ms and you and me: errors < 1%";
        check(both, &["p99 < 1s", "GET /a: p99 < 5ms", "you and me: errors < 1%"]);
        check("a and b and c: p99<5ms", &["a and b and c: p99<5ms"]);
        check(" p50 < 1ms AND\tp99 < 10ms and p99.9<1s ", &["p50 < 1ms", "p99 < 10ms", "p99.9<1s"]);
    }

    #[test]
    fn each_claim_is_checked() {
        for (text, part) in [
            ("", "no comparison"),
            ("p99 < 10ms and", "no comparison"),
            ("and p99 < 10ms", "no comparison"),
            ("p99 < 10ms and max < 1s", "use p99.99"),
            ("a: p98 < 5ms and b: p99 < 1s", "p98"),
            ("a: connect.p99 < 5ms", "of the whole run"),
            ("p99 < 10ms or p50 < 1ms", "'10ms or p50 < 1ms'"),
        ] {
            let error = text.parse::<Objective>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
