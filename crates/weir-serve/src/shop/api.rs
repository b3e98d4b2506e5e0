//! The endpoints that speak JSON: products, which need a token, carts and orders.

use std::sync::{Arc, LazyLock};

use super::cookies::ShopCookie;
use super::form;
use super::ids::CartId;
use super::json::JsonFields;
use super::reply::{Refusal, ShopReply};
use super::rules::BrokenRule;
use super::state::ShopState;
use super::visit::Visit;
use crate::units::parse_digits;

/// Number of products; their ids begin with 1.
const PRODUCTS: u64 = 100;

/// Products of a page.
const PAGE_PRODUCTS: u64 = 10;

/// Number of pages, and what they say.
const PAGES_COUNT: u64 = PRODUCTS / PAGE_PRODUCTS;
static PAGES: LazyLock<Vec<Arc<[u8]>>> =
    LazyLock::new(|| (1..=PAGES_COUNT).map(page_json).collect());

/// Largest quantity that is added to a cart at once.
const QUANTITY_MAX: u64 = 1000;

/// Responds with a page of products: the first, or `page` of the query.
pub(super) fn products(visit: &Visit<'_>) -> Result<ShopReply, Refusal> {
    authorize(visit)?;
    let page = match form::value(visit.request.query(), "page") {
        None => 1,
        Some(text) => parse_digits(&text).unwrap_or(0),
    };
    if !(1..=PAGES_COUNT).contains(&page) {
        return Err(Refusal::BAD_PAGE);
    }
    Ok(ShopReply::json(200, Arc::clone(&PAGES[page as usize - 1])))
}

/// Responds with the product whose id ends the path.
pub(super) fn product(visit: &Visit<'_>) -> Result<ShopReply, Refusal> {
    authorize(visit)?;
    let id = visit.request.path().rsplit(|&byte| byte == b'/').next();
    let id = id.and_then(parse_digits).filter(|id| (1..=PRODUCTS).contains(id));
    let id = id.ok_or(Refusal::NOT_FOUND)?;
    Ok(ShopReply::json(200, format!("{}\n", product_json(id)).into_bytes()))
}

/// Adds a product to the cart. A request without a cart gets one.
pub(super) fn add_to_cart(visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    let fields = JsonFields::read(&visit.request.body).ok_or(Refusal::BAD_JSON)?;
    let number = |name, most| fields.number(name).filter(|number| (1..=most).contains(number));
    let product = number("product", PRODUCTS).ok_or(Refusal::BAD_JSON)?;
    let quantity = number("quantity", QUANTITY_MAX).ok_or(Refusal::BAD_JSON)?;
    let session = visit.session();
    let found = visit.state.find_cart(visit.cookies.value(ShopCookie::Cart), session);
    let id = match found {
        Err(BrokenRule::CartMissing) => visit.state.make_cart(session),
        found => found?,
    };
    visit.state.add_to_cart(id, product, quantity);
    let reply = ShopReply::json(201, cart_json(visit.state, id).into_bytes());
    Ok(match found {
        Ok(_) => reply,
        Err(_) => reply.with("Set-Cookie", ShopCookie::Cart.set(&id.to_string())),
    })
}

/// Responds with the cart.
pub(super) fn cart(visit: &Visit<'_>) -> Result<ShopReply, Refusal> {
    let cookie = visit.cookies.value(ShopCookie::Cart);
    let id = visit.state.find_cart(cookie, visit.session())?;
    Ok(ShopReply::json(200, cart_json(visit.state, id).into_bytes()))
}

/// Orders the cart that the body names.
pub(super) fn order(visit: &mut Visit<'_>) -> Result<ShopReply, Refusal> {
    let fields = JsonFields::read(&visit.request.body).ok_or(Refusal::BAD_JSON)?;
    let cart = fields.text_or_number("cart").ok_or(Refusal::BAD_JSON)?;
    let id = visit.state.find_cart(Some(cart), visit.session())?;
    let order = visit.state.order(id);
    Ok(ShopReply::json(201, format!("{{\"order\":{order}}}\n").into_bytes()))
}

/// Checks the bearer token.
fn authorize(visit: &Visit<'_>) -> Result<(), BrokenRule> {
    visit.state.check_token(visit.request.bearer(), visit.session(), visit.now)
}

/// Returns the price of a product, in cents.
fn price(product: u64) -> u64 {
    100 + product * 37 % 900
}

fn page_json(page: u64) -> Arc<[u8]> {
    let last = page * PAGE_PRODUCTS;
    let products: Vec<String> = (last - PAGE_PRODUCTS + 1..=last).map(product_json).collect();
    let products = products.join(",");
    let json = format!("{{\"page\":{page},\"pages\":{PAGES_COUNT},\"products\":[{products}]}}\n");
    json.into_bytes().into()
}

fn product_json(id: u64) -> String {
    format!("{{\"id\":{id},\"name\":\"Product {id}\",\"price\":{}}}", price(id))
}

fn cart_json(state: &ShopState, id: CartId) -> String {
    let mut lines = Vec::new();
    let mut total: u64 = 0;
    for (product, quantity) in state.cart_lines(id) {
        lines.push(format!("{{\"product\":{product},\"quantity\":{quantity}}}"));
        total = total.saturating_add(quantity.saturating_mul(price(*product)));
    }
    format!("{{\"id\":{id},\"lines\":[{}],\"total\":{total}}}\n", lines.join(","))
}
