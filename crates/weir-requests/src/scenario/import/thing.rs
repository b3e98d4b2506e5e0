//! The thing that an id names. A short value, as the number of an order, is certain to come from a
//! response if both sides say that it names the same thing: `{"order_id": 17}`, or `{"id": 17}` of
//! `POST /orders`, and then `/orders/17` or `{"order": 17}`.

use crate::scenario::import::recorded::{SentValue, ValuePlace};

/// Names of members that stand around the answer itself, in lower case.
const AROUND: [&str; 6] = ["attributes", "body", "data", "payload", "response", "result"];

/// Returns the thing that a member of a response is the id of. `pointer` is its place, and `target`
/// that of the request. `None` if it is no id, or one of a list, of which users choose.
pub(super) fn of_member(pointer: &str, target: &str) -> Option<String> {
    let is_index = |token: &str| !token.is_empty() && token.bytes().all(|it| it.is_ascii_digit());
    let mut tokens: Vec<&str> = pointer.split('/').skip(1).collect();
    if tokens.iter().any(|token| is_index(token)) {
        return None;
    }
    match without_id(tokens.pop()?)? {
        "" => {
            let of_answer = |token: &&str| AROUND.contains(&token.to_ascii_lowercase().as_str());
            let owner = tokens.pop().filter(|token| !of_answer(token));
            thing(owner.or_else(|| last_route(target))?)
        }
        owner => thing(owner),
    }
}

/// Returns the thing that a value may be the id of where it is sent; `None` if nothing says so.
pub(super) fn of_sent(sent: SentValue<'_>) -> Option<String> {
    match sent.place {
        ValuePlace::Path => thing(Some(sent.name).filter(|name| is_route(name))?),
        _ => thing(without_id(sent.name).unwrap_or(sent.name)),
    }
}

/// Returns the name of an id without the word itself: nothing of `id`; `None` if it is no id.
fn without_id(name: &str) -> Option<&str> {
    if name.eq_ignore_ascii_case("id") {
        return Some("");
    }
    let ends = ["_id", "-id", "_ID", "-ID", "Id", "ID"];
    ends.iter().find_map(|end| name.strip_suffix(end)).filter(|name| !name.is_empty())
}

/// Returns the last segment of a path that is no value.
fn last_route(target: &str) -> Option<&str> {
    let path = target.split('?').next().unwrap_or_default();
    path.split('/').rev().find(|segment| is_route(segment))
}

/// True for a segment of a path that names a thing: one without digits and fields.
fn is_route(segment: &str) -> bool {
    !segment.is_empty() && !segment.contains(|c: char| c.is_numeric() || matches!(c, '{' | '%'))
}

/// Returns the name of one thing: `lineitem` of `line_items`; `None` if nothing is left.
fn thing(name: &str) -> Option<String> {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let name: String = letters.flat_map(char::to_lowercase).collect();
    let one = match (name.strip_suffix("ies"), name.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) if !stem.ends_with('s') => stem.to_owned(),
        _ => name,
    };
    (!one.is_empty()).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_thing_on_both_sides() {
        for (pointer, target, expected) in [
            ("/id", "/api/carts", Some("cart")),
            ("/id", "/api/carts/12/lines?x=1", Some("line")),
            ("/data/id", "/api/categories", Some("category")),
            ("/order/id", "/checkout", Some("order")),
            ("/a/lineItemId", "/", Some("lineitem")),
            ("/cart_id", "/", Some("cart")),
            ("/id", "/", None),
            ("/0/id", "/carts", None),
            ("/carts/3/id", "/", None),
            ("/paid", "/carts", None),
            ("/total", "/carts", None),
        ] {
            assert_eq!(of_member(pointer, target).as_deref(), expected, "{pointer} of {target}");
        }
        for (place, name, expected) in [
            (ValuePlace::Path, "carts", Some("cart")),
            (ValuePlace::Path, "v1", None),
            (ValuePlace::Path, "", None),
            (ValuePlace::Json, "cart", Some("cart")),
            (ValuePlace::Query, "cartId", Some("cart")),
            (ValuePlace::Form, "line_item_id", Some("lineitem")),
            (ValuePlace::Json, "address", Some("address")),
            (ValuePlace::Json, "id", None),
        ] {
            let sent = SentValue { place, name, text: "17" };
            assert_eq!(of_sent(sent).as_deref(), expected, "{place:?} {name}");
        }
    }
}
