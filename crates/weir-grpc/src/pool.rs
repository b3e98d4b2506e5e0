//! Files of a schema to the pool that encodes messages. A server or a stranger may have written
//! them: they are checked here, because the library behind the pool panics on some, or does not
//! end.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_reflect::DescriptorPool;
use protox::file::{FileResolver, GoogleFileResolver};

use crate::descriptors::{
    DescriptorSet, EnumDescription, FieldDescription, FileDescription, MessageDescription,
    field_label, field_type,
};
use crate::editions::{self, UnknownSyntax};
use crate::one_line;

/// Files whose messages have a JSON form of their own. The library has them, and relies on their
/// content.
const WELL_KNOWN_FILES: [&str; 7] = [
    "google/protobuf/any.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/wrappers.proto",
];

/// Names in these files, without their package.
const WELL_KNOWN_NAMES: [&str; 18] = [
    "Any",
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "Duration",
    "Empty",
    "FieldMask",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "ListValue",
    "NullValue",
    "StringValue",
    "Struct",
    "Timestamp",
    "UInt32Value",
    "UInt64Value",
    "Value",
];

/// Most pairs of a file and one that it sees, directly or by public imports.
const IMPORTS_MAX: usize = 1_000_000;

/// Returns a file of `google/protobuf` that every schema may import; `None` for others.
pub(crate) fn google_file(name: &str) -> Option<FileDescription> {
    let file = GoogleFileResolver::new().open_file(name).ok()?;
    let bytes = file.file_descriptor_proto().encode_to_vec();
    FileDescription::decode(&bytes[..]).ok()
}

/// Returns the pool of files by their names, with those of `google/protobuf` that they import.
///
/// # Errors
/// If a file is of an unknown syntax, breaks a rule of descriptors, or imports a file that is
/// missing; the reason in one line.
pub(crate) fn pool_of(
    mut files: BTreeMap<String, FileDescription>,
) -> Result<DescriptorPool, String> {
    let mut names = files.keys().chain(files.values().flat_map(|file| &file.dependency));
    if let Some(name) = names.find(|name| name.contains(char::is_control)) {
        return Err(format!("{name:?} is no name of a file"));
    }
    add_google_files(&mut files);
    for (name, file) in &mut files {
        editions::rewrite(file).map_err(|UnknownSyntax(syntax)| {
            format!(
                "{name} has {syntax}, and weir reads proto2, proto3, and the editions 2023 and \
                 2024: compile it for one of them"
            )
        })?;
        check_file(name, file)?;
    }
    flatten_imports(&mut files)?;
    let set = DescriptorSet { file: files.into_values().collect() };
    let mut pool = DescriptorPool::new();
    pool.decode_file_descriptor_set(&set.encode_to_vec()[..])
        .map_err(|error| one_line(&error.to_string()))?;
    Ok(pool)
}

/// Adds the files of `google/protobuf` that are imported, in place of those with a meaning of their
/// own.
fn add_google_files(files: &mut BTreeMap<String, FileDescription>) {
    let imports = files.values().flat_map(|file| &file.dependency);
    let mut names: Vec<String> = imports.chain(files.keys()).cloned().collect();
    while let Some(name) = names.pop() {
        if files.contains_key(&name) && !WELL_KNOWN_FILES.contains(&&name[..]) {
            continue;
        }
        let Some(file) = google_file(&name) else { continue };
        if files.get(&name) != Some(&file) {
            names.extend(file.dependency.iter().cloned());
            files.insert(name, file);
        }
    }
}

/// Replaces public imports by imports of what they show. The library follows them without a limit.
fn flatten_imports(files: &mut BTreeMap<String, FileDescription>) -> Result<(), String> {
    let mut flat = BTreeMap::new();
    let mut pairs = 0;
    for (name, file) in &*files {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<(&str, &str)> =
            imports_of(file).map(|import| (&name[..], import)).collect();
        while let Some((importer, import)) = open.pop() {
            let Some(imported) = files.get(import) else {
                return Err(format!(
                    "{importer} imports {import}, which is missing: add it, or write the set with \
                     its imports"
                ));
            };
            if seen.insert(import) {
                open.extend(public_imports_of(imported).map(|public| (import, public)));
            }
        }
        pairs += seen.len();
        if pairs > IMPORTS_MAX {
            return Err(format!("its files have more than {IMPORTS_MAX} imports"));
        }
        seen.remove(&name[..]);
        flat.insert(name.clone(), seen.into_iter().map(str::to_owned).collect::<Vec<_>>());
    }
    for (name, imports) in flat {
        let file = files.get_mut(&name).expect("the names are the same");
        (file.dependency, file.public_dependency) = (imports, Vec::new());
    }
    Ok(())
}

fn imports_of(file: &FileDescription) -> impl Iterator<Item = &str> {
    file.dependency.iter().map(String::as_str)
}

fn public_imports_of(file: &FileDescription) -> impl Iterator<Item = &str> {
    let index = |index: &i32| usize::try_from(*index).ok();
    let indices = file.public_dependency.iter().filter_map(index);
    indices.filter_map(|index| file.dependency.get(index)).map(String::as_str)
}

/// Checks the names and the types in a file.
fn check_file(name: &str, file: &FileDescription) -> Result<(), String> {
    let checks = FileChecks { name, is_google: WELL_KNOWN_FILES.contains(&name) };
    if !file.package.is_empty() {
        file.package.split('.').try_for_each(|part| checks.identifier(part))?;
    }
    let scope = &file.package[..];
    file.message_type.iter().try_for_each(|message| checks.message(scope, message))?;
    file.enum_type.iter().try_for_each(|one| checks.enumeration(scope, one))?;
    file.extension.iter().try_for_each(|field| checks.field(field))?;
    for service in &file.service {
        checks.identifier(&service.name)?;
        for method in &service.method {
            checks.identifier(&method.name)?;
            checks.type_name(&method.input_type)?;
            checks.type_name(&method.output_type)?;
        }
    }
    Ok(())
}

/// The checks of one file.
#[derive(Debug)]
struct FileChecks<'a> {
    name: &'a str,
    /// True for a file that the library has.
    is_google: bool,
}

impl FileChecks<'_> {
    fn message(&self, scope: &str, message: &MessageDescription) -> Result<(), String> {
        let full_name = self.definition(scope, &message.name)?;
        message.field.iter().chain(&message.extension).try_for_each(|field| self.field(field))?;
        let oneofs = message.oneof_decl.iter();
        oneofs.map(|oneof| &oneof.name).try_for_each(|name| self.identifier(name))?;
        if message.is_map_entry() && !is_entry(message) {
            return Err(format!("{}: {full_name} is no entry of a map", self.name));
        }
        message.enum_type.iter().try_for_each(|one| self.enumeration(&full_name, one))?;
        message.nested_type.iter().try_for_each(|nested| self.message(&full_name, nested))
    }

    fn enumeration(&self, scope: &str, one: &EnumDescription) -> Result<(), String> {
        self.definition(scope, &one.name)?;
        one.value.iter().try_for_each(|value| self.identifier(&value.name))
    }

    fn field(&self, field: &FieldDescription) -> Result<(), String> {
        self.identifier(&field.name)?;
        let is_named = field.type_name.as_deref().is_some_and(|name| !name.is_empty());
        if let Some(name) = field.type_name.as_deref().filter(|name| !name.is_empty()) {
            self.type_name(name)?;
        }
        if let Some(name) = &field.extendee {
            self.type_name(name)?;
        }
        let fits = match field.r#type {
            // The type is that of the name.
            None => is_named,
            Some(field_type::GROUP | field_type::MESSAGE | field_type::ENUM) => is_named,
            Some(number) => (1..=field_type::LAST).contains(&number) && !is_named,
        };
        let is_labelled =
            field.label.is_none_or(|label| (1..=field_label::REPEATED).contains(&label));
        match fits && is_labelled {
            true => Ok(()),
            false => Err(format!("{}: the field {} has no type", self.name, field.name)),
        }
    }

    /// Checks the name of a message or an enumeration in a scope, and returns the full one.
    fn definition(&self, scope: &str, name: &str) -> Result<String, String> {
        self.identifier(name)?;
        let is_well_known = scope == "google.protobuf" && WELL_KNOWN_NAMES.contains(&name);
        if is_well_known && !self.is_google {
            return Err(format!("{} defines google.protobuf.{name}", self.name));
        }
        Ok(if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") })
    }

    fn identifier(&self, name: &str) -> Result<(), String> {
        match is_identifier(name) {
            true => Ok(()),
            false => Err(format!("{}: {name:?} is no name", self.name)),
        }
    }

    fn type_name(&self, name: &str) -> Result<(), String> {
        match name.strip_prefix('.').unwrap_or(name).split('.').all(is_identifier) {
            true => Ok(()),
            false => Err(format!("{}: {name:?} is no name of a type", self.name)),
        }
    }
}

/// True if a message has a key and a value, as the entries of a map have.
fn is_entry(message: &MessageDescription) -> bool {
    let [key, value] = &message.field[..] else { return false };
    let is_key = |number: i32| {
        !matches!(
            number,
            field_type::DOUBLE
                | field_type::FLOAT
                | field_type::GROUP
                | field_type::MESSAGE
                | field_type::BYTES
                | field_type::ENUM
        )
    };
    let is_single = |field: &FieldDescription, number: i32| {
        field.number == Some(number)
            && field.label != Some(field_label::REPEATED)
            && field.oneof_index.is_none()
    };
    is_single(key, 1)
        && is_single(value, 2)
        && key.r#type.is_some_and(is_key)
        && value.r#type.is_some_and(|number| number != field_type::GROUP)
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let is_first = |char: char| char.is_ascii_alphabetic() || char == '_';
    chars.next().is_some_and(is_first)
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}
