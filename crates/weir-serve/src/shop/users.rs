//! The endpoints of users: log-in, account, tokens, log-out.

use super::cookies::ShopCookie;
use super::form;
use super::json::JsonFields;
use super::pages;
use super::reply::{Refusal, ShopReply};
use super::rules::BrokenRule;
use super::visit::Visit;

/// The password of every user, and the secret of every client.
const PASSWORD: &str = "secret";

/// Longest name of a user, in bytes.
const USER_BYTES_MAX: usize = 200;

/// Responds with the form of a log-in. A request without a session gets one.
pub(super) fn login_page(visit: &mut Visit<'_>) -> ShopReply {
    let known = visit.known_session().map(|(_, session)| session.csrf);
    match known {
        Ok(csrf) => ShopReply::page(pages::login(&csrf_text(csrf))),
        Err(_) => {
            let (id, csrf) = visit.state.begin_session();
            let page = ShopReply::page(pages::login(&csrf_text(csrf)));
            page.with("Set-Cookie", ShopCookie::Session.set(&id.to_string()))
        }
    }
}

/// Logs a user in.
pub(super) fn log_in(visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    let (number, session) = visit.known_session()?;
    if !visit.request.is_form() {
        return Err(Refusal::NO_FORM);
    }
    let value = |name| form::value(&visit.request.body, name).unwrap_or_default();
    if value("csrf") != csrf_text(session.csrf).as_bytes() {
        Err(BrokenRule::CsrfWrong)?;
    }
    let user = String::from_utf8(value("user")).unwrap_or_default();
    let is_user = !user.is_empty() && user.len() <= USER_BYTES_MAX;
    if !is_user || value("password") != PASSWORD.as_bytes() {
        Err(BrokenRule::CredentialsWrong)?;
    }
    let id = visit.state.log_in(number, &user, visit.sent_at);
    let reply = ShopReply::empty(303)
        .with("Location", "/account")
        .with("Set-Cookie", ShopCookie::Session.set(&id.to_string()))
        .with("Set-Cookie", ShopCookie::Seen.set("1"))
        .with("Set-Cookie", ShopCookie::Flash.set("welcome"));
    Ok(match visit.is_tls {
        true => reply.with("Set-Cookie", ShopCookie::Tls.set("1")),
        false => reply,
    })
}

/// Responds with the page of the user.
pub(super) fn account(visit: &Visit<'_>) -> Result<ShopReply, Refusal> {
    let (_, user) = visit.user_session()?;
    Ok(ShopReply::page(pages::account(user)))
}

/// Gives a token: to a user who is logged in, or to a client with the secret.
pub(super) fn token(visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    let owner = match visit.user_session() {
        Ok((number, _)) => Some(number),
        Err(rule) => {
            let fields = JsonFields::read(&visit.request.body).ok_or(rule)?;
            let client = fields.text("client").ok_or(rule)?;
            if client.is_empty() || fields.text("secret") != Some(PASSWORD) {
                Err(BrokenRule::CredentialsWrong)?;
            }
            None
        }
    };
    let token = visit.state.make_token(owner, visit.sent_at);
    // Rounded down: a client that counts on it is not late.
    let seconds = visit.state.token_ttl_ns / 1_000_000_000;
    let json = format!(
        "{{\"access_token\":\"{token}\",\"token_type\":\"Bearer\",\"expires_in\":{seconds}}}\n"
    );
    Ok(ShopReply::json(200, json.into_bytes()))
}

/// Ends the session.
pub(super) fn log_out(visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    let (number, _) = visit.known_session()?;
    visit.state.end_session(number, visit.sent_at);
    Ok(ShopReply::empty(204).with("Set-Cookie", ShopCookie::Session.removed()))
}

/// Returns a CSRF token as it stands in a form.
fn csrf_text(csrf: u64) -> String {
    format!("{csrf:016x}")
}
