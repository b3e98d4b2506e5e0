//! Invariants for any bytes as a descriptor set, and as responses of a server's reflection: it is
//! refused in one line, or its methods encode, decode, and are the same once it is written again.

use weir_grpc::{Method, MethodName, Reflection, Schema, SchemaError, SchemaFile};

/// Most methods of a schema that are called.
const METHODS_MAX: usize = 20;

/// Messages that every method gets, in JSON and in protobuf.
const JSON: [&str; 5] =
    ["{}", "[]", "\"a\"", "1", "{\"m\": {\"1\": 2}, \"name\": \"a\", \"g\": {}}"];
const PROTOBUF: [&[u8]; 7] = [
    b"",
    b"\x08\x01",
    b"\x0a\x01a",
    b"\x0a\x00\x12\x02\x08\x01",
    b"\x0b\x0c",
    b"\x0a\x04\x08\x01\x10\x02",
    b"\xff",
];

/// Checks a descriptor set, and a server that sends it.
pub(crate) fn schema(input: &[u8]) {
    let of_file = compile(input);
    check(of_file.clone());
    // The files of a response have the form of a set: one field of bytes.
    let mut response = vec![0x22];
    push_length(&mut response, input.len());
    response.extend_from_slice(input);
    for message in [&response[..], input] {
        let mut reflection = Reflection::new("a.A");
        let mut calls = 0;
        let mut result = Ok(());
        while result.is_ok() && reflection.request().is_some() && calls < 50 {
            result = reflection.receive(message);
            calls += 1;
        }
        check(result.and_then(|()| reflection.finish()));
    }
}

fn compile(set: &[u8]) -> Result<Schema, SchemaError> {
    let file = SchemaFile { name: "set.binpb".to_owned(), content: set.to_vec() };
    Schema::compile(vec![file], Box::new(|_| None))
}

fn check(schema: Result<Schema, SchemaError>) {
    let schema = match schema {
        Ok(schema) => schema,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text}");
            return;
        }
    };
    let again = compile(&schema.descriptor_set()).expect("what was written");
    for name in methods(&schema) {
        let method = schema.method(&name).expect("it is listed");
        let same = again.method(&name).expect("it is written");
        assert_eq!(method.kind(), same.kind());
        for bytes in PROTOBUF {
            assert_eq!(method.response(bytes), same.response(bytes));
        }
        for json in JSON {
            assert_eq!(method.requests(json.as_bytes()), same.requests(json.as_bytes()));
        }
        for messages in JSON.map(|json| method.requests(json.as_bytes())) {
            messages.into_iter().flatten().for_each(|message| decode(&method, &message));
        }
    }
}

/// Decodes a message of a request as one of a response, which it is in some schemas.
fn decode(method: &Method, message: &[u8]) {
    if let Err(error) = method.response(message) {
        assert!(!error.to_string().is_empty());
    }
}

/// Returns the methods of a schema, which its errors list.
fn methods(schema: &Schema) -> Vec<MethodName> {
    let name = |service: &str, method: &str| MethodName {
        service: service.to_owned(),
        method: method.to_owned(),
    };
    let Err(SchemaError::NoService { found, .. }) = schema.method(&name("", "")) else {
        return Vec::new();
    };
    let of_service = |service: String| match schema.method(&name(&service, "")) {
        Err(SchemaError::NoMethod { found, .. }) => {
            found.iter().map(|method| name(&service, method)).collect()
        }
        _ => Vec::new(),
    };
    found.into_iter().flat_map(of_service).take(METHODS_MAX).collect()
}

/// Appends a length as protobuf writes it.
fn push_length(out: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}
