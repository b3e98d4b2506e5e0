//! `cargo xtask bench`: compares weir with its peers on this machine, and writes the results.
//!
//! Every comparison consists of paired rounds: both sides run within seconds of each other, in an
//! order that alternates. The result is the median of the rounds' ratios. Each measured
//! case replaces its file in `docs/measured/`, and docs/PERFORMANCE.md is rendered anew; with
//! `--print`, neither.

mod client;
mod connections;
mod defaults;
mod endurance;
mod fleet;
mod held;
mod http2;
mod lists;
mod load;
mod matrix;
mod messages;
mod million;
mod pacing;
mod paired;
mod peers;
mod scripts;
mod serving;
mod tls;
mod users;
mod watching;

use crate::rig::Case;

/// All cases, in the order of the page.
pub(crate) const CASES: &[Case] = &[
    Case::new("defaults", defaults::defaults),
    Case::new("depth", |fixture| matrix::section(fixture, &matrix::DEPTH)),
    Case::new("pipelining", |fixture| matrix::section(fixture, &matrix::PIPELINING)),
    Case::new("bodies", |fixture| matrix::section(fixture, &matrix::BODIES)),
    Case::new("close", |fixture| matrix::section(fixture, &matrix::CLOSE)),
    Case::new("tls", tls::tls),
    Case::new("http2", http2::http2),
    Case::new("pacing", pacing::pacing),
    Case::new("connections", connections::connections),
    Case::new("million", million::million),
    Case::new("endurance", endurance::endurance),
    Case::new("fleet", fleet::fleet),
    Case::new("watching", watching::watching),
    Case::new("serve", serving::serving),
    Case::new("scripts", scripts::scripts),
    Case::new("lists", lists::lists),
    Case::new("users", users::users),
    Case::new("messages", messages::messages),
    Case::new("held", held::held),
];

#[cfg(test)]
mod tests {
    use xtask::measured::PERFORMANCE;

    use super::*;

    #[test]
    fn the_page_has_all_cases_in_their_order() {
        assert!(CASES.iter().map(|case| case.id).eq(PERFORMANCE.entries()));
    }
}
