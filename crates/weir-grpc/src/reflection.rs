//! Server reflection: the requests for the files of a service, and their responses
//! (`grpc.reflection.v1.ServerReflection`). It neither sends nor receives.

use std::collections::BTreeMap;

use prost::Message;

use crate::descriptors::FileDescription;
use crate::error::SchemaError;
use crate::pool::{google_file, pool_of};
use crate::{Schema, one_line};

/// Most files of a service.
const FILES_MAX: usize = 10_000;

/// The files of a service, as far as they are known.
#[derive(Debug)]
pub struct Reflection {
    service: String,
    files: BTreeMap<String, FileDescription>,
    /// The next request; `None` if nothing is missing.
    next: Option<Query>,
    /// True once the service is found to be missing.
    is_missing: bool,
}

/// A request of the reflection service.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Query {
    /// The file with the service.
    Service,
    /// The file with this name.
    File(String),
    /// The names of all services.
    Services,
}

impl Reflection {
    /// Begins to load the files of a service.
    pub fn new(service: &str) -> Reflection {
        let service = service.to_owned();
        let next = Some(Query::Service);
        Reflection { service, files: BTreeMap::new(), next, is_missing: false }
    }

    /// Returns the message of the next call, in protobuf; `None` if the files are complete.
    pub fn request(&self) -> Option<Vec<u8>> {
        let mut request = ReflectionRequest::default();
        match self.next.as_ref()? {
            Query::Service => request.file_containing_symbol = Some(self.service.clone()),
            Query::File(name) => request.file_by_filename = Some(name.clone()),
            Query::Services => request.list_services = Some(String::new()),
        }
        Some(request.encode_to_vec())
    }

    /// Handles the message of a response, in protobuf.
    ///
    /// # Errors
    /// If it is none, or the server has no such service; the message has those that it has.
    pub fn receive(&mut self, message: &[u8]) -> Result<(), SchemaError> {
        let invalid = |error: prost::DecodeError| SchemaError::Reflection(error.to_string());
        let response = ReflectionResponse::decode(message).map_err(invalid)?;
        if let Some(ReflectionServices { service }) = response.services {
            let mut found: Vec<String> = service.into_iter().map(|service| service.name).collect();
            found.retain(|name| !name.starts_with("grpc.reflection."));
            let service = self.service.clone();
            let place = "the server".to_owned();
            return Err(SchemaError::NoService { service, place, found });
        }
        if let Some(ReflectionFailure { message, .. }) = response.failure {
            return match self.next.take() {
                Some(Query::Service) => {
                    (self.next, self.is_missing) = (Some(Query::Services), true);
                    Ok(())
                }
                Some(Query::File(name)) => Err(self.lacks(&name, &message)),
                _ => Err(SchemaError::Reflection(one_line(&message))),
            };
        }
        for file in response.files.unwrap_or_default().file {
            let file = FileDescription::decode(&file[..]).map_err(invalid)?;
            self.files.insert(file.name.clone(), file);
        }
        if let Some(Query::File(name)) = &self.next
            && !self.files.contains_key(name)
        {
            return Err(self.lacks(name, "it sent another file"));
        }
        if self.files.len() > FILES_MAX {
            return Err(SchemaError::Reflection(format!("more than {FILES_MAX} files")));
        }
        self.next = self.missing().map(Query::File);
        Ok(())
    }

    /// Returns the schema of the files that were received.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn finish(self) -> Result<Schema, SchemaError> {
        let pool = pool_of(self.files).map_err(SchemaError::Reflection)?;
        Ok(Schema::of_pool(pool, "the server"))
    }

    /// Returns the name of a file that is imported and not known. Those of the language itself are
    /// known.
    fn missing(&mut self) -> Option<String> {
        loop {
            let mut imports = self.files.values().flat_map(|file| &file.dependency);
            let name = imports.find(|name| !self.files.contains_key(*name))?.clone();
            let Some(file) = google_file(&name) else { return Some(name) };
            self.files.insert(name, file);
        }
    }

    /// Returns the error of an import that the server does not send, for this reason.
    fn lacks(&self, name: &str, reason: &str) -> SchemaError {
        let is_importer = |file: &&FileDescription| file.dependency.iter().any(|one| one == name);
        let importer = self.files.values().find(is_importer).map_or("a file", |file| &file.name);
        let text = format!("the server lacks {name}, which {importer} imports: {reason}");
        SchemaError::Reflection(one_line(&text))
    }
}

/// `ServerReflectionRequest`: one field of its choice is set.
#[derive(Clone, PartialEq, Message)]
struct ReflectionRequest {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "4")]
    files: Option<ReflectionFiles>,
    #[prost(message, optional, tag = "6")]
    services: Option<ReflectionServices>,
    #[prost(message, optional, tag = "7")]
    failure: Option<ReflectionFailure>,
}

/// `FileDescriptorResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionFiles {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

/// `ListServiceResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionServices {
    #[prost(message, repeated, tag = "1")]
    service: Vec<ReflectionService>,
}

/// `ServiceResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionService {
    #[prost(string, tag = "1")]
    name: String,
}

/// `ErrorResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionFailure {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::DescriptorSet;
    use crate::schema_file::SchemaFile;

    const BASE: &str = "syntax = \"proto3\"; package p; import \"google/protobuf/empty.proto\";
        message A { int32 n = 1; google.protobuf.Empty e = 2; }";
    const SERVICE: &str = "syntax = \"proto3\"; package p; import \"base.proto\";
        service S { rpc Get(A) returns (A); }";

    /// Returns the response of a server with these files, each alone.
    fn answer(files: &[FileDescription], request: &[u8]) -> Vec<u8> {
        let request = ReflectionRequest::decode(request).expect("a request");
        let mut response = ReflectionResponse::default();
        let name = match (&request.file_containing_symbol, &request.file_by_filename) {
            (Some(symbol), _) if symbol == "p.S" => "service.proto",
            (Some(_), _) => "",
            (None, Some(name)) => name,
            (None, None) => {
                let service = vec![ReflectionService { name: "p.S".to_owned() }];
                response.services = Some(ReflectionServices { service });
                return response.encode_to_vec();
            }
        };
        match files.iter().find(|file| file.name == name) {
            Some(file) => {
                let file = vec![file.encode_to_vec()];
                response.files = Some(ReflectionFiles { file });
            }
            None => {
                let message = "not found".to_owned();
                response.failure = Some(ReflectionFailure { code: 5, message });
            }
        }
        response.encode_to_vec()
    }

    fn files() -> Vec<FileDescription> {
        let file = |name: &str, text: &str| SchemaFile {
            name: name.to_owned(),
            content: text.as_bytes().to_owned(),
        };
        let files = vec![file("service.proto", SERVICE), file("base.proto", BASE)];
        let schema = Schema::compile(files, Box::new(|_| None)).expect("valid");
        DescriptorSet::decode(&schema.descriptor_set()[..]).expect("valid").file
    }

    #[test]
    fn imports_are_loaded_one_after_the_other() {
        let files = files();
        let mut reflection = Reflection::new("p.S");
        let mut calls = 0;
        while let Some(request) = reflection.request() {
            reflection.receive(&answer(&files, &request)).expect("a response");
            calls += 1;
        }
        assert_eq!(calls, 2, "google/protobuf/empty.proto is known");
        let schema = reflection.finish().expect("a schema");
        schema.method(&"p.S/Get".parse().expect("a name")).expect("a method");
    }

    #[test]
    fn a_service_that_is_missing_is_named_with_those_that_exist() {
        let mut reflection = Reflection::new("p.T");
        let request = reflection.request().expect("a request");
        reflection.receive(&answer(&[], &request)).expect("the services follow");
        let request = reflection.request().expect("a request");
        let error = reflection.receive(&answer(&[], &request)).expect_err("no such service");
        assert_eq!(error.to_string(), "no service \"p.T\" in the server; it has: p.S");
    }

    /// Returns the error of the calls to a server with these files.
    fn failed(files: &[FileDescription]) -> String {
        let mut reflection = Reflection::new("p.S");
        while let Some(request) = reflection.request() {
            if let Err(error) = reflection.receive(&answer(files, &request)) {
                return error.to_string();
            }
        }
        reflection.finish().expect_err("they are wrong").to_string()
    }

    #[test]
    fn a_missing_import_is_named_with_its_importer() {
        let mut files = files();
        files.retain(|file| file.name != "base.proto");
        let text =
            "reflection: the server lacks base.proto, which service.proto imports: not found";
        assert_eq!(failed(&files), text);
    }

    #[test]
    fn an_unknown_syntax_is_named_with_its_file() {
        let mut files = files();
        let base = files.iter_mut().find(|file| file.name == "base.proto").expect("it is one");
        base.syntax = Some("proto9".to_owned());
        let text = failed(&files);
        assert!(
            text.starts_with("reflection: base.proto has syntax \"proto9\", and weir"),
            "{text}"
        );
    }
}
