//! The test shop of `weir serve --shop`: users who log in, get tokens, fill carts and order, and
//! the rules that their clients can break. All threads share its state. It knows requests and
//! responses as values: nothing of connections, protocols and clocks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_io::Nanos;

use crate::draws::Draws;
use endpoint::ShopEndpoint;
use reply::Refusal;
use state::ShopState;
use visit::Visit;

mod options;

mod api;
mod users;
mod visit;

mod pages;
mod state;
mod stats;

mod cookies;
mod endpoint;
mod reply;
mod request;
mod rules;

mod form;
mod ids;
mod json;
mod latest_items;

pub use options::ShopOptions;
pub(crate) use reply::ShopReply;
pub(crate) use request::ShopRequest;
pub use stats::ShopStats;

/// The shop of a server.
#[derive(Debug)]
pub(crate) struct Shop {
    /// True if the connections have TLS.
    is_tls: bool,
    state: Mutex<ShopState>,
}

impl Shop {
    /// Makes a shop whose ids are drawn from `ids`.
    pub(crate) fn new(options: &ShopOptions, ids: Draws, is_tls: bool) -> Shop {
        Shop { is_tls, state: Mutex::new(ShopState::new(options, ids)) }
    }

    /// Returns the response to a request that was read at `now`; it is due at `sent_at`, from which
    /// cookies and tokens age.
    pub(crate) fn respond(&self, request: &ShopRequest, now: Nanos, sent_at: Nanos) -> ShopReply {
        let endpoint = ShopEndpoint::find(&request.method, request.path());
        let mut state = self.state();
        state.count(endpoint);
        let mut visit = Visit::new(request, &mut state, self.is_tls, now, sent_at);
        let mut broken = visit.broken_rules(endpoint);
        let reply = respond(endpoint, &mut visit).unwrap_or_else(|refusal| {
            refusal.rule.into_iter().for_each(|rule| broken.add_if(true, rule));
            refusal.reply()
        });
        state.count_broken(broken);
        reply
    }

    /// Returns the current counters.
    pub(crate) fn stats(&self) -> ShopStats {
        self.state().stats().clone()
    }

    fn state(&self) -> MutexGuard<'_, ShopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn respond(endpoint: ShopEndpoint, visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    if visit.request.is_body_too_large {
        return Err(Refusal::TOO_LARGE);
    }
    match endpoint {
        ShopEndpoint::Home => Ok(ShopReply::page(pages::home())),
        ShopEndpoint::LoginPage => Ok(users::login_page(visit)),
        ShopEndpoint::Login => users::log_in(visit),
        ShopEndpoint::Account => users::account(visit),
        ShopEndpoint::Token => users::token(visit),
        ShopEndpoint::Products => api::products(visit),
        ShopEndpoint::Product => api::product(visit),
        ShopEndpoint::AddToCart => api::add_to_cart(visit),
        ShopEndpoint::Cart => api::cart(visit),
        ShopEndpoint::Order => api::order(visit),
        ShopEndpoint::Logout => users::log_out(visit),
        ShopEndpoint::Stats => {
            Ok(ShopReply::json(200, format!("{}\n", visit.state.stats().to_json()).into_bytes()))
        }
        ShopEndpoint::Other => match ShopEndpoint::methods(visit.request.path()) {
            methods if methods.is_empty() => Err(Refusal::NOT_FOUND),
            methods => Ok(Refusal::METHOD.reply().with("Allow", methods.join(", "))),
        },
    }
}

#[cfg(test)]
mod tests;
