//! Editions of the language: files of one are rewritten as proto2 or proto3, so that their messages
//! have the same bytes and the same JSON. Independent of names and of other files.

use crate::descriptors::{
    Features, FieldDescription, FieldOptions, FileDescription, MessageDescription, field_label,
    field_type,
};

/// The editions that are read, each with its number in descriptors.
const EDITIONS: [(&str, i32); 2] = [("2023", 1000), ("2024", 1001)];

/// The syntax that names an edition in its place.
const EDITIONS_SYNTAX: &str = "editions";

/// Values of features, by their numbers in `FeatureSet`.
const PRESENCE_EXPLICIT: i32 = 1;
const PRESENCE_IMPLICIT: i32 = 2;
const PRESENCE_REQUIRED: i32 = 3;
const REPEATED_PACKED: i32 = 1;
const MESSAGE_LENGTH_PREFIXED: i32 = 1;
const MESSAGE_DELIMITED: i32 = 2;

/// A syntax or an edition that is not read, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownSyntax(pub(crate) String);

/// Returns the number of an edition; `None` if it is not read.
pub(crate) fn edition_of(year: &str) -> Option<i32> {
    EDITIONS.iter().find(|(name, _)| *name == year).map(|(_, number)| *number)
}

/// Makes a file one of an edition: it was compiled as proto3.
pub(crate) fn set_edition(file: &mut FileDescription, edition: i32) {
    file.syntax = Some(EDITIONS_SYNTAX.to_owned());
    file.edition = Some(edition);
}

/// Rewrites a file of an edition as proto2 or proto3; one of these stays as it is.
///
/// # Errors
/// If it is of another syntax or edition.
pub(crate) fn rewrite(file: &mut FileDescription) -> Result<(), UnknownSyntax> {
    match file.syntax.as_deref() {
        None | Some("" | "proto2" | "proto3") => {
            file.syntax = file.syntax.take().filter(|syntax| !syntax.is_empty());
            return Ok(());
        }
        Some(EDITIONS_SYNTAX) => {}
        Some(other) => return Err(UnknownSyntax(format!("syntax {other:?}"))),
    }
    let number = file.edition.take().unwrap_or_default();
    if !EDITIONS.iter().any(|(_, known)| *known == number) {
        return Err(UnknownSyntax(format!("edition number {number}")));
    }
    // The defaults of both editions.
    let defaults = Choices {
        presence: PRESENCE_EXPLICIT,
        repeated: REPEATED_PACKED,
        message: MESSAGE_LENGTH_PREFIXED,
    };
    let options = file.options.take();
    let mut rewriter = Rewriter::default();
    let choices = defaults.with(options.and_then(|options| options.features).as_ref());
    file.extension.iter_mut().for_each(|field| rewriter.field(field, choices, false));
    file.message_type.iter_mut().for_each(|message| rewriter.message(message, choices));
    // In proto2 presence is explicit. proto3 has both, and checks of its own.
    let syntax = if rewriter.has_implicit { "proto3" } else { "proto2" };
    file.syntax = Some(syntax.to_owned());
    Ok(())
}

/// The features of a scope, resolved.
#[derive(Clone, Copy, Debug)]
struct Choices {
    presence: i32,
    repeated: i32,
    message: i32,
}

impl Choices {
    /// Returns the choices of a scope within this one.
    fn with(self, features: Option<&Features>) -> Choices {
        let Some(features) = features else { return self };
        Choices {
            presence: features.field_presence.unwrap_or(self.presence),
            repeated: features.repeated_field_encoding.unwrap_or(self.repeated),
            message: features.message_encoding.unwrap_or(self.message),
        }
    }
}

/// The rewriting of a file, and what it found.
#[derive(Debug, Default)]
struct Rewriter {
    /// True after a field whose presence is implicit.
    has_implicit: bool,
}

impl Rewriter {
    fn message(&mut self, message: &mut MessageDescription, outer: Choices) {
        let features = message.options.as_mut().and_then(|options| options.features.take());
        let choices = outer.with(features.as_ref());
        let is_entry = message.is_map_entry();
        let entries: Vec<String> = message
            .nested_type
            .iter()
            .filter(|nested| nested.is_map_entry())
            .map(|nested| nested.name.clone())
            .collect();
        for field in &mut message.field {
            let of_type = field.type_name.as_deref().and_then(|name| name.rsplit('.').next());
            let is_map = of_type.is_some_and(|name| entries.iter().any(|entry| entry == name));
            self.field(field, choices, is_entry || is_map);
        }
        message.extension.iter_mut().for_each(|field| self.field(field, choices, false));
        message.nested_type.iter_mut().for_each(|nested| self.message(nested, choices));
    }

    /// Rewrites a field; `is_of_map` is true for a map and for the fields of its entries, which are
    /// always prefixed by a length.
    fn field(&mut self, field: &mut FieldDescription, outer: Choices, is_of_map: bool) {
        let features = field.options.take().and_then(|options| options.features);
        let Choices { presence, repeated, message } = outer.with(features.as_ref());
        if field.r#type == Some(field_type::MESSAGE) && message == MESSAGE_DELIMITED && !is_of_map {
            field.r#type = Some(field_type::GROUP);
        }
        if field.label == Some(field_label::REPEATED) {
            let packed = Some(repeated == REPEATED_PACKED);
            field.options = Some(FieldOptions { packed, features: None });
            return;
        }
        let has_presence_of_its_own = field.oneof_index.is_some()
            || field.extendee.is_some()
            || matches!(field.r#type, Some(field_type::MESSAGE | field_type::GROUP));
        match presence {
            PRESENCE_REQUIRED => {
                field.label = Some(field_label::REQUIRED);
                field.proto3_optional = Some(true);
            }
            PRESENCE_IMPLICIT if !has_presence_of_its_own && !is_of_map => self.has_implicit = true,
            _ if !has_presence_of_its_own && !is_of_map => field.proto3_optional = Some(true),
            _ => {}
        }
    }
}
