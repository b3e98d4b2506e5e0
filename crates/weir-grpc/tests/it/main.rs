//! Tests of weir-grpc's public interface: schemas, methods and messages.

use weir_grpc::{Method, MethodKind, Schema, SchemaFile};

const ECHO: &str = r#"
syntax = "proto3";
package demo;
import "part.proto";
import "google/protobuf/wrappers.proto";
message Item { string name = 1; uint64 count = 2; Part part = 3; }
service Echo {
  rpc Say(Item) returns (Item);
  rpc Send(stream Item) returns (Item);
  rpc Watch(Item) returns (stream Item);
  rpc Talk(stream Item) returns (stream Item);
  rpc Word(google.protobuf.StringValue) returns (Item);
}
"#;

const PART: &str = "syntax = \"proto3\"; package demo; message Part { repeated int32 n = 1; }";

fn file(name: &str, content: &[u8]) -> SchemaFile {
    SchemaFile { name: name.to_owned(), content: content.to_owned() }
}

fn schema() -> Schema {
    let import = |name: &str| (name == "part.proto").then(|| PART.into());
    Schema::compile(vec![file("echo.proto", ECHO.as_bytes())], Box::new(import)).expect("valid")
}

fn method(name: &str) -> Method {
    let name = format!("demo.Echo/{name}").parse().expect("a name");
    schema().method(&name).expect("a method")
}

#[test]
fn methods_have_kinds() {
    assert_eq!(method("Say").kind(), MethodKind::Unary);
    assert_eq!(method("Send").kind(), MethodKind::ClientStreaming);
    assert_eq!(method("Watch").kind(), MethodKind::ServerStreaming);
    assert_eq!(method("Talk").kind(), MethodKind::Bidirectional);
}

#[test]
fn json_becomes_protobuf() {
    let check = |name: &str, json: &str, expected: &[&[u8]]| {
        assert_eq!(method(name).requests(json.as_bytes()).expect(json), expected, "{json}");
    };
    check("Say", "{}", &[b""]);
    check("Say", r#"{"name": "ab", "count": "7"}"#, &[b"\x0a\x02ab\x10\x07"]);
    check("Say", r#"{"part": {"n": [1, 2]}}"#, &[b"\x1a\x04\x0a\x02\x01\x02"]);
    check("Word", "\"ab\"", &[b"\x0a\x02ab"]);
    for stream in [r#"[{"count": 1}, {"count": 2}]"#, "{\"count\": 1}\n{\"count\": 2}\n"] {
        check("Send", stream, &[b"\x10\x01", b"\x10\x02"]);
    }
    check("Talk", "[]", &[]);
    check("Talk", "", &[]);
    let text = method("Say").response(b"\x0a\x02ab\x10\x07").expect("a message");
    assert_eq!(text, r#"{"name":"ab","count":"7"}"#);
}

#[test]
fn what_is_wrong_is_named() {
    let check = |name: &str, json: &str, part: &str| {
        let error = method(name).requests(json.as_bytes()).expect_err(json).to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{json}: {error}");
    };
    check("Say", "{", "no JSON of demo.Item: EOF");
    check("Say", r#"{"nme": 1}"#, "unrecognized field name 'nme'");
    check("Say", "{}{}", "it has 2 messages, and the method takes one");
    check("Say", "", "it has 0 messages");
    check("Send", r#"[{"count": -1}]"#, "no JSON of demo.Item");
    let of = |name: &str| {
        let name = name.parse().map_err(|error: weir_grpc::SchemaError| error.to_string())?;
        schema().method(&name).map(drop).map_err(|error| error.to_string())
    };
    let check = |name: &str, expected: &str| assert_eq!(of(name), Err(expected.to_owned()));
    let methods = "Say, Send, Watch, Talk, Word";
    check(
        "demo.Echo/Say2",
        &format!("no method \"Say2\" in service \"demo.Echo\"; it has: {methods}"),
    );
    check("demo.Eco/Say", "no service \"demo.Eco\" in echo.proto; it has: demo.Echo");
    check("Say", "\"Say\" is no method: write package.Service/Method");
    assert_eq!(of("/demo.Echo/Say"), Ok(()));
    method("Say").response(b"\xff").expect_err("no protobuf");
}

#[test]
fn a_descriptor_set_is_a_schema() {
    let set = file("echo.binpb", &schema().descriptor_set());
    let again = Schema::compile(vec![set], Box::new(|_| None)).expect("valid");
    again.method(&"demo.Echo/Say".parse().expect("a name")).expect("a method");
    let check = |name: &str, content: &[u8], part: &str| {
        let error = Schema::compile(vec![file(name, content)], Box::new(|_| None));
        let error = error.expect_err(part).to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    check("echo.binpb", b"\xff\xff", "echo.binpb is no descriptor set");
    check("echo.proto", ECHO.as_bytes(), "part.proto");
    check("bad.proto", b"syntax = \"proto3\";\nmessage {", "bad.proto:2:9");
}
