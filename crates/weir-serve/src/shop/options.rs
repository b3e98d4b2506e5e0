//! Options of the shop: plain data whose fields are flags of `weir serve`, one to one.

use std::time::Duration;

/// `--shop`: a test shop answers, in which users log in, get tokens and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShopOptions {
    /// `--shop-token-ttl`: time that a token holds, from its response on; above zero.
    pub token_ttl: Duration,
}

impl Default for ShopOptions {
    /// Returns a shop whose tokens hold for 15 minutes.
    fn default() -> ShopOptions {
        ShopOptions { token_ttl: Duration::from_secs(15 * 60) }
    }
}
