//! The thing that an id names. A short value, as the number of an order, is certain to come from a
//! response if both sides say that it names the same thing: `{"order_id": 17}`, or `{"id": 17}` of
//! `POST /orders`, and then `/orders/17` or `{"order": 17}`.

use crate::scenario::import::recorded::{SentValue, ValuePlace};

/// Names of members that stand around the answer itself, in lower case.
const AROUND: [&str; 14] = [
    "attributes",
    "body",
    "content",
    "data",
    "entries",
    "hits",
    "items",
    "list",
    "payload",
    "records",
    "response",
    "result",
    "results",
    "rows",
];

/// Names of values that count or measure, in lower case: numbers of these are no ids.
const MEASURES: [&str; 18] = [
    "amount", "count", "level", "limit", "offset", "order", "page", "point", "position", "price",
    "qty", "quantity", "rating", "size", "state", "step", "total", "version",
];

/// Ends of names whose last s is no plural's, or not all of it.
const ENDS_IN_S: [&str; 8] = ["he", "i", "ie", "s", "se", "u", "xe", "ze"];

/// Segments of a path before a number that says where one is, in lower case.
const POSITIONS: [&str; 6] = ["level", "offset", "page", "position", "step", "version"];

/// The thing that a member of a response is the id of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberThing {
    /// Its name, for comparisons.
    pub(super) name: String,
    /// Name for a capture.
    pub(super) capture: String,
    /// True if it is one of a list, of which users choose.
    pub(super) is_choice: bool,
}

/// The thing that a value may be the id of where it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentThing {
    /// Its name, for comparisons.
    pub(super) name: String,
    /// True if its place says that it is an id: a path, or a name that ends so.
    pub(super) is_id: bool,
}

/// Returns the thing that a member of a response is the id of. `pointer` is its place, and `target`
/// that of the request; `None` if it is no id.
pub(super) fn of_member(pointer: &str, target: &str) -> Option<MemberThing> {
    let member = pointer.rsplit('/').find(|token| !is_index(token))?;
    let is_choice = pointer.split('/').any(is_index);
    let (owner, capture) = match without_id(member)? {
        "" => {
            let of_answer = |token: &&str| AROUND.contains(&token.to_ascii_lowercase().as_str());
            let owner = owner_of(pointer).filter(|token| !of_answer(token));
            let owner = owner.or_else(|| last_route(target))?;
            let is_other = |one: &&str| ENDS_IN_S.iter().any(|end| one.ends_with(end));
            let one = owner.strip_suffix('s').filter(|one| !is_other(one));
            (owner, format!("{}_id", one.unwrap_or(owner)))
        }
        owner => (owner, member.to_owned()),
    };
    Some(MemberThing { name: thing(owner)?, capture, is_choice })
}

/// Returns the thing that a value may be the id of where it is sent; `None` if nothing says so.
pub(super) fn of_sent(sent: SentValue<'_>) -> Option<SentThing> {
    let (name, is_id) = match sent.place {
        ValuePlace::Path => {
            let is_position = POSITIONS.contains(&sent.name.to_ascii_lowercase().as_str());
            (Some(sent.name).filter(|name| is_route(name) && !is_position)?, true)
        }
        _ => match without_id(sent.name) {
            Some("") => (owner_of(sent.pointer)?, true),
            Some(name) => (name, true),
            None if is_measure(sent.name) => return None,
            None => (sent.name, false),
        },
    };
    Some(SentThing { name: thing(name)?, is_id })
}

/// True for an id of the thing that the request is about: one that no other thing is around.
pub(super) fn is_own_id(sent: SentValue<'_>) -> bool {
    sent.place != ValuePlace::Path
        && without_id(sent.name) == Some("")
        && sent.pointer.split('/').count() <= 2
}

/// Returns the name of the member around that of a pointer, or around the list that has it; `None`
/// without one.
fn owner_of(pointer: &str) -> Option<&str> {
    pointer.split('/').filter(|token| !token.is_empty() && !is_index(token)).rev().nth(1)
}

/// True for the token of a pointer that is the place in a list.
fn is_index(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for a name that counts or measures, as a plural does.
pub(super) fn is_measure(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_plural = name.ends_with('s') && !name.ends_with("ss") && !name.ends_with("us");
    is_plural || MEASURES.contains(&name.as_str())
}

/// Returns the name of an id without the word itself: nothing of `id`; `None` if it is no id.
fn without_id(name: &str) -> Option<&str> {
    if ["id", "_id"].iter().any(|id| name.eq_ignore_ascii_case(id)) {
        return Some("");
    }
    let ends = ["_id", "-id", "_ID", "-ID", "Id", "ID", "_ids", "Ids", "IDs"];
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

/// Returns a name that is the same for one thing and for several: `lineitem` of `line_items`. It is
/// for comparisons alone: `address` becomes `addr`. `None` if nothing is left.
fn thing(name: &str) -> Option<String> {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let name: String = letters.flat_map(char::to_lowercase).collect();
    // Plurals end in s or es, and a y or a consonant before that may have changed.
    let stem = name.trim_end_matches(['s', 'e']).trim_end_matches(['i', 'y', 'z']);
    let one = if stem.len() < 2 { &name } else { stem };
    (!one.is_empty()).then(|| one.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_thing_on_both_sides() {
        for (pointer, target, expected) in [
            ("/id", "/api/carts", Some(("cart_id", false))),
            ("/_id", "/api/carts/12/lines?x=1", Some(("line_id", false))),
            ("/data/id", "/api/addresses", Some(("addresses_id", false))),
            ("/order/id", "/checkout", Some(("order_id", false))),
            ("/a/lineItemId", "/", Some(("lineItemId", false))),
            ("/cart_id", "/", Some(("cart_id", false))),
            ("/0/id", "/carts", Some(("cart_id", true))),
            ("/carts/3/id", "/", Some(("cart_id", true))),
            ("/items/3/id", "/carts", Some(("cart_id", true))),
            ("/id", "/", None),
            ("/paid", "/carts", None),
            ("/total", "/carts", None),
        ] {
            let found = of_member(pointer, target);
            let found = found.as_ref().map(|thing| (thing.capture.as_str(), thing.is_choice));
            assert_eq!(found, expected, "{pointer} of {target}");
        }
        for (place, name, expected) in [
            (ValuePlace::Path, "carts", Some(("cart", true))),
            (ValuePlace::Path, "v1", None),
            (ValuePlace::Path, "step", None),
            (ValuePlace::Path, "", None),
            (ValuePlace::Json, "cart", Some(("cart", false))),
            (ValuePlace::Query, "cartId", Some(("cart", true))),
            (ValuePlace::Form, "line_item_id", Some(("lineitem", true))),
            (ValuePlace::Json, "carts", None),
            (ValuePlace::Query, "page", None),
            (ValuePlace::Json, "ticket_ids", Some(("ticket", true))),
            (ValuePlace::Json, "id", Some(("cart", true))),
            (ValuePlace::Form, "_id", None),
        ] {
            let pointer = if name == "id" { "/carts/0/id" } else { "" };
            let sent = of_sent(SentValue { place, name, pointer, text: "17" });
            let sent = sent.as_ref().map(|thing| (thing.name.as_str(), thing.is_id));
            assert_eq!(sent, expected, "{place:?} {name}");
        }
    }

    #[test]
    fn one_and_several_have_the_same_name() {
        for (one, several) in [
            ("cart", "carts"),
            ("address", "addresses"),
            ("box", "boxes"),
            ("status", "statuses"),
            ("bus", "buses"),
            ("quiz", "quizzes"),
            ("movie", "movies"),
            ("category", "categories"),
            ("news", "news"),
            ("lineItem", "line_items"),
            ("page", "pages"),
        ] {
            assert_eq!(thing(one), thing(several), "{one}");
        }
        for (one, other) in [("order", "user"), ("list", "card"), ("address", "add"), ("us", "is")]
        {
            assert_ne!(thing(one), thing(other), "{one}");
        }
    }
}
