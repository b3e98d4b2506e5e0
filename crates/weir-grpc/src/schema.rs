//! A schema: files with services and messages, compiled or decoded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;
use prost_reflect::{DescriptorPool, ServiceDescriptor};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::descriptors::{DescriptorSet, FileDescription};
use crate::edition_text::EditionText;
use crate::editions;
use crate::error::SchemaError;
use crate::method_name::MethodName;
use crate::pool::pool_of;
use crate::schema_file::{ImportedFile, SchemaFile};
use crate::{Method, one_line};

/// Services, methods and messages.
#[derive(Clone, Debug)]
pub struct Schema {
    pool: DescriptorPool,
    /// The place that it comes from, for messages.
    place: String,
}

impl Schema {
    /// Compiles .proto files and decodes descriptor sets. `import` returns the files that they
    /// import; those of `google/protobuf` need not be found.
    ///
    /// # Errors
    /// If a file is neither, or an import is not found. The message has the file and the line.
    pub fn compile(
        files: Vec<SchemaFile>,
        import: Box<ImportedFile>,
    ) -> Result<Schema, SchemaError> {
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        let place = names.join(", ");
        let (texts, sets): (Vec<SchemaFile>, Vec<SchemaFile>) =
            files.into_iter().partition(|file| is_proto(&file.name));
        let mut described = BTreeMap::new();
        for set in sets {
            let decoded = DescriptorSet::decode(&set.content[..]).map_err(|error| {
                SchemaError::Compile(format!("{} is no descriptor set: {error}", set.name))
            })?;
            add(&mut described, decoded);
        }
        if !texts.is_empty() {
            add(&mut described, compiled(texts, import)?);
        }
        let failed = |reason| SchemaError::Compile(format!("{place}: {reason}"));
        let pool = pool_of(described).map_err(failed)?;
        Ok(Schema { pool, place })
    }

    /// Makes a schema of a pool that comes from `place`.
    pub(crate) fn of_pool(pool: DescriptorPool, place: &str) -> Schema {
        Schema { pool, place: place.to_owned() }
    }

    /// Returns the schema as a descriptor set, which [`Schema::compile`] reads.
    pub fn descriptor_set(&self) -> Vec<u8> {
        self.pool.encode_to_vec()
    }

    /// Returns a method.
    ///
    /// # Errors
    /// If there is none of this name; the message has those that exist.
    pub fn method(&self, name: &MethodName) -> Result<Method, SchemaError> {
        let Some(service) = self.pool.get_service_by_name(&name.service) else {
            let full_name = |service: ServiceDescriptor| service.full_name().to_owned();
            return Err(SchemaError::NoService {
                service: name.service.clone(),
                place: self.place.clone(),
                found: self.pool.services().map(full_name).collect(),
            });
        };
        let found = service.methods().find(|method| method.name() == name.method);
        found.map(Method::of).ok_or_else(|| SchemaError::NoMethod {
            method: name.method.clone(),
            service: name.service.clone(),
            found: service.methods().map(|method| method.name().to_owned()).collect(),
        })
    }
}

/// Adds the files of a set whose names are new.
fn add(files: &mut BTreeMap<String, FileDescription>, set: DescriptorSet) {
    for file in set.file {
        files.entry(file.name.clone()).or_insert(file);
    }
}

/// Compiles texts, and returns them with their imports.
fn compiled(
    texts: Vec<SchemaFile>,
    import: Box<ImportedFile>,
) -> Result<DescriptorSet, SchemaError> {
    let names: Vec<String> = texts.iter().map(|file| file.name.clone()).collect();
    let editions = Arc::default();
    let mut resolver = ChainFileResolver::new();
    resolver.add(SchemaSources { files: texts, import, editions: Arc::clone(&editions) });
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    let known = || editions.lock().unwrap_or_else(PoisonError::into_inner);
    for name in names {
        compiler.open_file(&name).map_err(|error| {
            let hint = if known().is_empty() { "" } else { EDITION_HINT };
            compile_error(&name, &error, hint)
        })?;
    }
    let bytes = compiler.descriptor_pool().encode_to_vec();
    let set = DescriptorSet::decode(&bytes[..]);
    let mut set = set.map_err(|error| SchemaError::Compile(error.to_string()))?;
    for file in &mut set.file {
        if let Some(edition) = known().get(&file.name) {
            editions::set_edition(file, *edition);
        }
    }
    Ok(set)
}

/// Advice for a text of an edition that does not compile.
const EDITION_HINT: &str = "; the syntax of editions is compiled as far as proto3 has it: give a \
                            descriptor set, which protoc writes";

/// True if a file with this name has the text of a schema.
fn is_proto(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "proto")
}

/// The files of a schema, and those that they import.
struct SchemaSources {
    files: Vec<SchemaFile>,
    import: Box<ImportedFile>,
    /// Editions of the texts that are of one, by their names.
    editions: Arc<Mutex<BTreeMap<String, i32>>>,
}

impl FileResolver for SchemaSources {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        let is_it = |file: &&SchemaFile| Path::new(&file.name) == path;
        self.files.iter().find(is_it).map(|file| file.name.clone())
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let own = self.files.iter().find(|file| file.name == name);
        let content = own.map(|file| file.content.clone()).or_else(|| (self.import)(name));
        let content = content.ok_or_else(|| protox::Error::file_not_found(name))?;
        let text = String::from_utf8(content).map_err(protox::Error::new)?;
        let Some(edition) = EditionText::of(&text) else { return File::from_source(name, &text) };
        let number = edition.number().map_err(protox::Error::new)?;
        self.editions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), number);
        File::from_source(name, &edition.as_proto3())
    }
}

fn compile_error(name: &str, error: &protox::Error, hint: &str) -> SchemaError {
    let place = error.file().unwrap_or(name);
    // Its Debug form has the line.
    let text = format!("{error:?}");
    let text = one_line(&text);
    SchemaError::Compile(match text.contains(place) {
        true => format!("{text}{hint}"),
        false => format!("{place}: {text}{hint}"),
    })
}
