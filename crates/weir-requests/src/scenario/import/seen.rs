//! The values that recorded responses had, and the captures of them.

use std::collections::{HashMap, HashSet};

use crate::scenario::import::found::{self, FoundValue};
use crate::scenario::import::origin::{UrlParts, WebOrigin};
use crate::scenario::import::recorded::{
    RecordedResponse, RecordedStep, SentValue, StepCapture, ValuePlace,
};
use crate::scenario::import::template_text::identifier;
use crate::scenario::import::thing::{self, MemberThing};

/// Greatest number of captured values, as scenarios have it.
const VALUES_MAX: usize = 64;

/// The places of a value in the last response that has it.
pub(super) struct LastPlaces {
    /// Index of the step.
    step: usize,
    places: Vec<FoundValue>,
    /// Name of its capture, once there is one.
    name: Option<String>,
}

/// A place of a response, and the path and query that it leads to.
struct FoundLocation {
    target: String,
    place: FoundValue,
}

/// An id in a response.
pub(super) struct FoundId {
    pub(super) text: String,
    pub(super) thing: String,
    /// Index of the step.
    pub(super) step: usize,
    pub(super) place: FoundValue,
}

/// An id, and the thing that it names.
pub(super) type ThingId = (String, String);

/// The values of the responses so far.
#[derive(Default)]
pub(super) struct SeenValues {
    /// Places of values, by value.
    pub(super) known: HashMap<String, LastPlaces>,
    /// Steps and places of values that are too short to be certain.
    pub(super) short: HashMap<String, (usize, FoundValue)>,
    /// Places of the ids that are no choices.
    pub(super) ids: HashMap<ThingId, LastPlaces>,
    /// All ids.
    pub(super) all_ids: Vec<FoundId>,
    /// Places of paths with digits, by path and query.
    pub(super) locations: HashMap<String, LastPlaces>,
    /// Steps whose `Location` has a value with digits, by value.
    pub(super) location_parts: HashMap<String, usize>,
}

impl SeenValues {
    /// Adds the values of a step's response. `origin` is that of all requests.
    pub(super) fn add(&mut self, step: &RecordedStep, index: usize, origin: &WebOrigin) {
        let Some(response) = &step.response else { return };
        let mut values: HashMap<String, Vec<FoundValue>> = HashMap::new();
        for value in found::values(response) {
            values.entry(value.text.clone()).or_default().push(value);
        }
        for (text, places) in values {
            self.known.insert(text, LastPlaces { step: index, places, name: None });
        }
        for part in found::location_parts(response) {
            self.location_parts.insert(part.to_owned(), index);
        }
        for FoundLocation { target, place } in locations_of(response, origin) {
            let places = vec![place];
            self.locations.insert(target, LastPlaces { step: index, places, name: None });
        }
        let mut ids: HashMap<ThingId, Vec<FoundValue>> = HashMap::new();
        for (pointer, value) in found::plain_values(response) {
            if let Some(thing) = thing::of_member(&pointer, &step.target) {
                let MemberThing { name: thing, capture, is_choice } = thing;
                let place = FoundValue { name: identifier(&capture), ..value.clone() };
                if !is_choice {
                    let id = (value.text.clone(), thing.clone());
                    ids.entry(id).or_default().push(place.clone());
                }
                let text = value.text.clone();
                self.all_ids.push(FoundId { text, thing, step: index, place });
            }
            if found::is_short(&value.text) {
                self.short.insert(value.text.clone(), (index, value));
            }
        }
        for (id, places) in ids {
            self.ids.insert(id, LastPlaces { step: index, places, name: None });
        }
    }
}

impl LastPlaces {
    /// Returns the field that has the value, for its use in `sent`; `None`, with a remark, if it
    /// cannot be captured.
    pub(super) fn field(
        &mut self,
        sent: SentValue<'_>,
        before: &mut [RecordedStep],
        names: &mut HashSet<String>,
        remarks: &mut Vec<String>,
    ) -> Option<String> {
        match self.capture(sent, before, names) {
            Ok(name) => Some(format!("{{{{user.{name}}}}}")),
            Err(reason) => {
                let from = &before[self.step].name;
                remarks.push(format!(
                    "the value of {} may come from step {from:?}; it was not captured, because \
                     {reason}",
                    sent.shown()
                ));
                None
            }
        }
    }

    /// Returns the name of the capture of the value for its use in `sent`, made if there is none.
    ///
    /// # Errors
    /// If it is uncertain or cannot be used there; the text is the reason, behind "because".
    fn capture(
        &mut self,
        sent: SentValue<'_>,
        before: &mut [RecordedStep],
        names: &mut HashSet<String>,
    ) -> Result<String, String> {
        let [place] = &self.places[..] else {
            let places: Vec<&str> = self.places.iter().map(|place| place.source.as_str()).collect();
            return Err(format!(
                "it stands at {} places there: {}",
                places.len(),
                places.join(", ")
            ));
        };
        if sent.place == ValuePlace::Path && place.text.contains(['/', '?', '%']) {
            return Err(
                "these characters of a captured value stay as they are in a path".to_owned()
            );
        }
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let step = before.get_mut(self.step).ok_or("the step is gone")?;
        if !step.response.as_ref().is_some_and(|response| found::is_captured(place, response)) {
            return Err(format!("{} does not find it in that response", place.source));
        }
        if names.len() >= VALUES_MAX {
            return Err(format!("a file has at most {VALUES_MAX} captures"));
        }
        let name = unique(&place.name, names);
        names.insert(name.clone());
        step.captures.push(StepCapture { name: name.clone(), source: place.source.clone() });
        self.name = Some(name.clone());
        Ok(name)
    }
}

/// Returns the paths of an origin with digits that a response leads to.
fn locations_of(response: &RecordedResponse, origin: &WebOrigin) -> Vec<FoundLocation> {
    let of_value = |place: FoundValue| {
        let target = match place.text.split_once("://") {
            None => place.text.split('#').next().unwrap_or_default().to_owned(),
            Some(_) => UrlParts::of(&place.text).filter(|url| url.origin == *origin)?.target,
        };
        let is_path = target.starts_with('/') && !target.starts_with("//");
        let is_id = is_path && target.contains(|c: char| c.is_ascii_digit());
        is_id.then_some(FoundLocation { target, place })
    };
    found::references(response).into_iter().filter_map(of_value).collect()
}

/// Returns a name, with a number behind it if it is taken.
pub(super) fn unique(name: &str, names: &HashSet<String>) -> String {
    let numbered = (2..).map(|number: u64| format!("{name}_{number}"));
    let mut all = [name.to_owned()].into_iter().chain(numbered);
    all.find(|name| !names.contains(name)).unwrap_or_default()
}
