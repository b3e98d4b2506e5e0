//! Captures: values of responses that later requests send again.

use std::collections::{HashMap, HashSet};

use crate::scenario::import::found::{self, FoundValue};
use crate::scenario::import::origin::WebOrigin;
use crate::scenario::import::recorded::{RecordedStep, SentValue, ValuePlace};
use crate::scenario::import::seen::{FoundId, SeenValues, ThingId, unique};
use crate::scenario::import::thing;

/// Header fields of requests that a browser sets by itself: equal values in responses are an
/// accident.
const OF_BROWSER: [&str; 10] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-type",
    "origin",
    "pragma",
    "referer",
    "user-agent",
];

/// Makes captures of the values that certainly come from an earlier response, and remarks on those
/// that may.
pub(super) fn find(steps: &mut [RecordedStep], origin: &WebOrigin) {
    let mut finder = CaptureFinder {
        seen: SeenValues::default(),
        own_targets: HashSet::new(),
        in_path: None,
        suggested: HashMap::new(),
        own: HashSet::new(),
        own_ids: HashSet::new(),
        names: steps.iter().flat_map(|step| &step.captures).map(|it| it.name.clone()).collect(),
    };
    for index in 0..steps.len() {
        let (before, from) = steps.split_at_mut(index);
        let Some(step) = from.first_mut() else { return };
        finder.replace(step, before);
        finder.seen.add(step, index, origin);
    }
}

struct CaptureFinder {
    /// Paths and queries that a request sent before a response had them.
    own_targets: HashSet<String>,
    seen: SeenValues,
    /// The last value of the step's path that was captured, and its field.
    in_path: Option<(String, String)>,
    /// Names of the captures that remarks suggest, by step and source.
    suggested: HashMap<(usize, String), String>,
    /// Values that a request sent before a response had them: the user's own.
    own: HashSet<String>,
    /// Ids of the same kind.
    own_ids: HashSet<ThingId>,
    /// Names of captures.
    names: HashSet<String>,
}

impl CaptureFinder {
    /// Replaces the values of a step that come from the responses of steps before it.
    fn replace(&mut self, step: &mut RecordedStep, before: &mut [RecordedStep]) {
        let mut remarks = Vec::new();
        self.replace_location(step, before, &mut remarks);
        self.in_path = None;
        step.replace_values(&mut |sent| {
            let field = self.replacement(sent, before, &mut remarks);
            if let Some(field) = field.as_ref().filter(|_| sent.place == ValuePlace::Path) {
                self.in_path = Some((sent.text.to_owned(), field.clone()));
            }
            field
        });
        step.replace_numbers(&mut |sent| self.of_plain(sent, before, &mut remarks));
        step.remarks.extend(remarks);
    }

    /// Replaces the begin of a step's path to which an earlier response led.
    fn replace_location(
        &mut self,
        step: &mut RecordedStep,
        before: &mut [RecordedStep],
        remarks: &mut Vec<String>,
    ) {
        let target = step.target.clone();
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['/', '?']);
        let rest_of = |location: &str| target.strip_prefix(location).filter(|rest| is_end(rest));
        let is_known =
            |location: &str| !self.own_targets.contains(location) && rest_of(location).is_some();
        let known = self.seen.locations.iter_mut().filter(|(location, _)| is_known(location));
        let Some((location, last)) = known.max_by_key(|(location, _)| location.len()) else {
            self.own_targets.insert(target);
            return;
        };
        let sent = SentValue { place: ValuePlace::Url, name: "", pointer: "", text: location };
        if let Some(field) = last.field(sent, before, &mut self.names, remarks) {
            step.target = field + rest_of(location).unwrap_or_default();
        }
    }

    fn replacement(
        &mut self,
        sent: SentValue<'_>,
        before: &mut [RecordedStep],
        remarks: &mut Vec<String>,
    ) -> Option<String> {
        let is_of_browser = |known: &str| sent.name.eq_ignore_ascii_case(known);
        let is_header = sent.place == ValuePlace::Header;
        if is_header && OF_BROWSER.iter().any(|known| is_of_browser(known)) {
            return None;
        }
        // `Bearer V`: the words before the value stay.
        let behind = sent.text.rsplit_once(' ').filter(|_| is_header);
        let parts = [Some(("", sent.text)), behind];
        for (scheme, value) in parts.into_iter().flatten() {
            // Segments without digits are names of routes.
            let is_route = sent.place == ValuePlace::Path && !value.contains(char::is_numeric);
            if is_route || !found::is_distinct(value) {
                continue;
            }
            if self.own.contains(value) {
                return None;
            }
            let Some(last) = self.seen.known.get_mut(value) else { continue };
            let field = last.field(sent, before, &mut self.names, remarks)?;
            let blank = if scheme.is_empty() { "" } else { " " };
            return Some(format!("{scheme}{blank}{field}"));
        }
        if found::is_distinct(sent.text) {
            match self.remark_on_part(sent, before) {
                Some(remark) => remarks.push(remark),
                None => {
                    self.own.insert(sent.text.to_owned());
                }
            }
            return None;
        }
        self.of_plain(sent, before, remarks)
    }

    /// Returns a remark if a value stands in the `Location` of an earlier response, of which a
    /// capture has the whole alone.
    fn remark_on_part(&self, sent: SentValue<'_>, before: &[RecordedStep]) -> Option<String> {
        let from = &before.get(*self.seen.location_parts.get(sent.text)?)?.name;
        Some(format!(
            "the value of {}, {}, may come from the Location of step {from:?}, of which no part \
             can be captured: look for it in another place",
            sent.shown(),
            sent.text
        ))
    }

    /// Returns the field for a plain value that is the id of the same thing in an earlier response.
    fn of_plain(
        &mut self,
        sent: SentValue<'_>,
        before: &mut [RecordedStep],
        remarks: &mut Vec<String>,
    ) -> Option<String> {
        if !found::is_plain(sent.text) {
            return None;
        }
        // `PUT /carts/17` sends the id of the cart again.
        let own = self.in_path.as_ref().filter(|(text, _)| text == sent.text);
        if let Some((_, field)) = own.filter(|_| thing::is_own_id(sent)) {
            return Some(field.clone());
        }
        let Some(thing) = thing::of_sent(sent) else {
            let is_count = thing::is_measure(sent.name);
            remarks.extend(self.remark_on_short(sent, before).filter(|_| !is_count));
            return None;
        };
        let id = (sent.text.to_owned(), thing.name);
        if self.own_ids.contains(&id) {
            return None;
        }
        // A small number under a name that does not say what it is may be a count.
        let is_certain = thing.is_id || found::is_short(sent.text);
        if let Some(last) = self.seen.ids.get_mut(&id).filter(|_| is_certain) {
            return last.field(sent, before, &mut self.names, remarks);
        }
        let is_of_thing = |known: &&FoundId| {
            known.text == id.0
                && (known.thing == id.1 || thing.is_id && id.1.ends_with(&known.thing))
        };
        match self.seen.all_ids.iter().rev().find(is_of_thing) {
            Some(FoundId { step, place, .. }) => {
                let place = place.clone();
                remarks.extend(self.remark(sent, *step, &place, before));
            }
            None => match self.remark_on_short(sent, before) {
                Some(remark) => remarks.push(remark),
                None => {
                    self.own_ids.insert(id);
                }
            },
        }
        None
    }

    /// Returns a remark if a short value may come from an earlier response.
    fn remark_on_short(&mut self, sent: SentValue<'_>, before: &[RecordedStep]) -> Option<String> {
        if !found::is_short(sent.text) || self.own.contains(sent.text) {
            return None;
        }
        let Some((step, place)) = self.seen.short.get(sent.text).cloned() else {
            let remark = self.remark_on_part(sent, before);
            if remark.is_none() {
                self.own.insert(sent.text.to_owned());
            }
            return remark;
        };
        self.remark(sent, step, &place, before)
    }

    /// Returns the remark on a value that may come from this place of a step's response.
    fn remark(
        &mut self,
        sent: SentValue<'_>,
        step: usize,
        place: &FoundValue,
        before: &[RecordedStep],
    ) -> Option<String> {
        let FoundValue { name, source, .. } = place;
        let from = before.get(step)?;
        let captured = from.captures.iter().find(|capture| capture.source == *source);
        let names = &mut self.names;
        let suggested = self.suggested.entry((step, source.clone())).or_insert_with(|| {
            let name = captured.map_or_else(|| unique(name, names), |known| known.name.clone());
            names.insert(name.clone());
            name
        });
        let place = match sent.place {
            ValuePlace::Number => "in the place of the number, in body = '…' instead of json",
            _ => "here",
        };
        let capture = match captured {
            Some(_) => String::new(),
            None => format!("give that step capture = {{ {suggested} = '{source}' }}, and "),
        };
        Some(format!(
            "the value of {}, {}, may come from step {:?}, but that is not certain: if it does, \
             {capture}write {{{{user.{suggested}}}}} {place}",
            sent.shown(),
            sent.text,
            from.name
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::import::origin::UrlParts;
    use crate::scenario::import::recorded::{RecordedResponse, StepBody};

    fn find(steps: &mut [RecordedStep]) {
        super::find(steps, &UrlParts::of("http://h/").expect("a URL").origin);
    }

    /// Returns a step with this response of JSON.
    fn step(name: &str, target: &str, body: &str) -> RecordedStep {
        RecordedStep {
            name: name.to_owned(),
            target: target.to_owned(),
            response: Some(RecordedResponse { body: body.to_owned(), ..Default::default() }),
            ..RecordedStep::default()
        }
    }

    fn captures(step: &RecordedStep) -> Vec<(&str, &str)> {
        step.captures.iter().map(|it| (it.name.as_str(), it.source.as_str())).collect()
    }

    #[test]
    fn values_are_found_where_they_are_sent_in_any_form() {
        let header = |value: &str| vec![("Authorization".to_owned(), value.to_owned())];
        let form = StepBody::Form(vec![("a".to_owned(), "x y-1234567".to_owned())]);
        let json = StepBody::Json(r#"{"b": ["x\u0020y-1234567", 1]}"#.to_owned());
        let first = || step("a", "/", r#"{"my": {"token": "x y-1234567"}}"#);
        for (sent, expected) in [
            (
                RecordedStep { headers: header("x y-1234567"), ..step("b", "/", "") },
                "{{user.token}}",
            ),
            (step("b", "/a?b=1&c=x+y-1234567", ""), "/a?b=1&c={{user.token}}"),
            (step("b", "/a/x%20y-1234567/d", ""), "/a/{{user.token}}/d"),
            (RecordedStep { body: form, ..step("b", "/", "") }, "{{user.token}}"),
            (RecordedStep { body: json, ..step("b", "/", "") }, r#"{"b": ["{{user.token}}", 1]}"#),
        ] {
            let mut steps = [first(), sent];
            find(&mut steps);
            assert_eq!(captures(&steps[0]), [("token", "json:/my/token")], "{expected}");
            assert!(steps[1].texts_mut().any(|text| *text == expected), "{:?}", steps[1]);
        }
        let mut steps = [
            step("a", "/", r#"{"token": "abc-1234567"}"#),
            RecordedStep { headers: header("Bearer abc-1234567"), ..step("b", "/", "") },
        ];
        find(&mut steps);
        assert_eq!(steps[1].headers[0].1, "Bearer {{user.token}}");
    }

    #[test]
    fn a_query_has_values_with_any_characters() {
        let mut steps = [
            step("a", "/", r#"{"a": "b&c+d-1234567"}"#),
            step("b", "/?x=b%26c%2Bd-1234567&y=1", ""),
        ];
        find(&mut steps);
        assert_eq!(steps[1].target, "/?x={{user.a}}&y=1");
    }

    #[test]
    fn the_last_response_before_the_use_counts() {
        let mut steps = [
            step("a", "/", r#"{"id": "abc-1234567"}"#),
            step("b", "/?x=abc-1234567", r#"{"next": "abc-1234567", "id": "def-1234567"}"#),
            step("c", "/?x=abc-1234567&y=def-1234567", ""),
        ];
        find(&mut steps);
        assert_eq!(captures(&steps[0]), [("id", "json:/id")]);
        assert_eq!(captures(&steps[1]), [("next", "json:/next"), ("id_2", "json:/id")]);
        assert_eq!(steps[2].target, "/?x={{user.next}}&y={{user.id_2}}");
    }

    #[test]
    fn uncertain_values_stay_with_a_remark() {
        for (body, target, reason) in [
            (
                r#"["abc-1234567", "abc-1234567"]"#,
                "/?x=abc-1234567",
                "2 places there: json:/0, json:/1",
            ),
            (r#"{"a": "b/c-1234567"}"#, "/b%2Fc-1234567", "stay as they are in a path"),
            (r#"{"a ": "abc-1234567"}"#, "/?x=abc-1234567", "does not find it"),
        ] {
            let mut steps = [step("a", "/", body), step("b", target, "")];
            find(&mut steps);
            assert_eq!((captures(&steps[0]), steps[1].target.as_str()), (vec![], target));
            assert!(steps[1].remarks[0].contains(reason), "{:?}", steps[1].remarks);
        }
        // Short values may be captures.
        let json = StepBody::Json(r#"{"place": 822208, "n": 1}"#.to_owned());
        let mut steps = [
            step("a", "/", r#"{"id": 822208, "n": 1, "key": "ab12"}"#),
            RecordedStep { body: json, ..step("b", "/k/ab12", "") },
        ];
        find(&mut steps);
        let [of_path, of_body] = &steps[1].remarks[..] else { panic!("{:?}", steps[1].remarks) };
        assert!(
            of_path.contains("ab12, may come from step \"a\"") && captures(&steps[0]).is_empty()
        );
        assert!(
            of_body.contains("capture = { id = 'json:/id' }, and write {{user.id}}"),
            "{of_body}"
        );
        // Values of the user, which the server sends back, are none.
        for (body, target) in
            [(r#"{"a": "abc-1234567"}"#, "/?x=abc-1234567"), (r#"{"a": "short-1"}"#, "/?x=short-1")]
        {
            let mut steps = [step("a", target, body), step("b", target, "")];
            find(&mut steps);
            assert_eq!((captures(&steps[0]), steps[1].remarks.len()), (vec![], 0));
        }
    }

    #[test]
    fn ids_of_the_same_thing_are_certain() {
        let json = |text: &str| StepBody::Json(text.to_owned());
        let cart = r#"{"id": 1700, "user": {"id": 3}, "lines": [{"id": 4}]}"#;
        let rest = r#""user": 3, "users": 3, "brand": {"id": 3}"#;
        let of = |cart: &str, user: &str| {
            let by = format!(r#""by": {{"user": {{"id": {user}}}}}"#);
            format!(r#"{{"cart": {cart}, "n": 1700, "id": {user}, {rest}, {by}}}"#)
        };
        let body = of("1700", "3");
        let replaced = of("{{user.cart_id}}", "{{user.user_id}}");
        let mut steps = [
            step("cart", "/api/cart", cart),
            RecordedStep { body: json(&body), ..step("b", "/users/3?x=3", "") },
            step("c", "/lines/4", r#"{"cart_id": 18}"#),
            step("d", "/carts/18?address_cart_id=18", ""),
        ];
        find(&mut steps);
        let expected = [("user_id", "json:/user/id"), ("cart_id", "json:/id")];
        assert_eq!(captures(&steps[0]), expected);
        assert_eq!(steps[1].body, json(&replaced));
        assert_eq!(steps[1].target, "/users/{{user.user_id}}?x=3");
        let [of_n, of_user] = &steps[1].remarks[..] else { panic!("{:?}", steps[1].remarks) };
        assert!(of_n.contains("JSON member n, 1700, may come from step \"cart\""), "{of_n}");
        assert!(of_n.contains("if it does, write {{user.cart_id}} in"), "{of_n}");
        assert!(of_user.contains("write {{user.user_id}} in the place of the number"), "{of_user}");
        // The user chose it from a list.
        assert_eq!(steps[2].target, "/lines/4");
        assert!(steps[2].remarks[0].contains("line_id = 'json:/lines/0/id'"));
        assert_eq!(steps[3].target, "/carts/{{user.cart_id_2}}?address_cart_id=18");
        assert!(steps[3].remarks[0].contains("query parameter address_cart_id, 18"));
        // The user knew it before.
        let mut steps = [step("a", "/carts/17", r#"{"cart_id": 17}"#), step("b", "/carts/17", "")];
        find(&mut steps);
        assert_eq!((captures(&steps[0]), &*steps[1].target), (vec![], "/carts/17"));
    }

    #[test]
    fn a_location_begins_the_urls_of_later_steps() {
        let created = |location: &str| {
            let headers = vec![("Location".to_owned(), location.to_owned())];
            let response = RecordedResponse { headers, ..RecordedResponse::default() };
            RecordedStep { response: Some(response), ..step("a", "/orders", "") }
        };
        for (location, target, expected) in [
            ("/orders/17", "/orders/17", "{{user.location}}"),
            ("http://h/orders/17#x", "/orders/17/lines?x=1", "{{user.location}}/lines?x=1"),
            ("/orders/17", "/orders/170", "/orders/170"),
            ("http://other/orders/17", "/orders/17", "/orders/17"),
            ("/account", "/account", "/account"),
        ] {
            let mut steps = [created(location), step("b", target, "")];
            find(&mut steps);
            assert_eq!(steps[1].target, expected, "{location}");
            let is_captured = captures(&steps[0]) == [("location", "header:Location")];
            assert_eq!(is_captured, expected.contains("user"), "{location}");
        }
        let mut steps =
            [step("a", "/orders/17", ""), created("/orders/17"), step("b", "/orders/17", "")];
        find(&mut steps);
        assert_eq!(steps[2].target, "/orders/17");
    }
}
