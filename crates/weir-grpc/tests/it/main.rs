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

/// Returns the method B of the service a.A in a set of the fuzz target's corpus.
fn corpus_method(name: &str) -> Result<Method, String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/schema");
    let set = file("set.binpb", &std::fs::read(path.join(name)).expect(name));
    let schema = Schema::compile(vec![set], Box::new(|_| None));
    let method = schema.and_then(|schema| schema.method(&"a.A/B".parse().expect("a name")));
    method.map_err(|error| error.to_string())
}

/// The bytes are those of protobuf 7.36 for Python with the same sets.
#[test]
fn editions_are_encoded_by_their_features() {
    let check = |name: &str, json: &str, expected: &[u8]| {
        let method = corpus_method(name).expect(name);
        assert_eq!(method.requests(json.as_bytes()).expect(json), [expected], "{name}");
        let text = method.response(expected).expect("a message");
        let again = method.requests(text.as_bytes()).expect("its JSON");
        assert_eq!(again, [expected], "{name}: {text}");
    };
    let map = b"\x22\x05\x0a\x01k\x12\x00";
    check(
        "edition_2023",
        r#"{"name": "", "n": 0, "r": [1, 2]}"#,
        b"\x0a\x00\x10\x00\x1a\x02\x01\x02",
    );
    check("edition_2023", r#"{"m": {"k": {}}}"#, map);
    check("edition_features", r#"{"name": "", "n": 0, "q": 0}"#, b"\x10\x00\x30\x00");
    let json = r#"{"r": [1, 2], "p": [1, 2], "g": {"n": 7, "q": 1}, "q": 1}"#;
    check(
        "edition_features",
        json,
        b"\x18\x01\x18\x02\x22\x02\x01\x02\x2b\x10\x07\x30\x01\x2c\x30\x01",
    );
    let json = r#"{"name": "", "g": {}, "r": [{}], "m": {"k": {}}, "e": "ONE"}"#;
    let expected = [b"\x0a\x00\x13\x14\x1b\x1c", &map[..], b"\x28\x01"].concat();
    check("edition_delimited", json, &expected);
}

/// Each of them made the library panic, or never end.
#[test]
fn sets_that_break_a_rule_are_refused_in_one_line() {
    let check = |name: &str, part: &str| {
        let error = corpus_method(name).expect_err(name);
        assert!(error.contains(part) && !error.contains('\n'), "{name}: {error}");
    };
    check("syntax_of_the_future", "set.binpb: a.proto has syntax \"proto9\", and weir reads");
    check("edition_of_the_future", "a.proto has edition number 99998, and weir reads");
    check("missing_import", "a.proto imports lacking.proto, which is missing");
    check("map_entry_without_a_value", "a.M.MEntry is no entry of a map");
    check("map_key_that_is_none", "a.M.MEntry is no entry of a map");
    check("own_timestamp", "evil.proto defines google.protobuf.Timestamp");
    check("own_value_in_a_message", "evil.proto defines google.protobuf.Value");
    check("name_with_dots", "\"..\" is no name");
    for name in ["public_imports_in_a_circle", "public_imports_in_layers"] {
        corpus_method(name).expect("it has an end");
    }
}

#[test]
fn a_text_of_an_edition_is_compiled() {
    let of = |text: &str| {
        Schema::compile(vec![file("ed.proto", text.as_bytes())], Box::new(|_| None))
            .and_then(|schema| schema.method(&"ed.S/T".parse().expect("a name")))
            .map_err(|error| error.to_string())
    };
    let head = "edition = \"2023\"; package ed; service S { rpc T(A) returns (A); }";
    let encoded = |text: &str| of(&format!("{head}{text}")).expect("valid").requests(b"{\"n\": 0}");
    assert_eq!(encoded("message A { int32 n = 1; }"), Ok(vec![b"\x08\0".to_vec()]));
    let implicit = "message A { int32 n = 1 [features.field_presence = IMPLICIT]; }";
    assert_eq!(encoded(implicit), Ok(vec![Vec::new()]));
    let check = |text: &str, part: &str| {
        let error = of(text).expect_err(text);
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    check("edition = \"2031\"; message A {}", "edition \"2031\" is not read");
    check(&format!("{head} message A {{ int32 n = 1 [default = 4]; }}"), "give a descriptor set");
}

#[test]
fn of_many_services_ten_are_listed() {
    let services: Vec<String> = (0..30).map(|n| format!("service S{n} {{}}")).collect();
    let text = format!("syntax = \"proto3\"; {}", services.join(" "));
    let schema = Schema::compile(vec![file("s.proto", text.as_bytes())], Box::new(|_| None));
    let error = schema.expect("valid").method(&"S/T".parse().expect("a name")).expect_err("none");
    let text = error.to_string();
    assert!(text.ends_with(", and 20 more"), "{text}");
    assert_eq!(text.matches(", S").count(), 9, "{text}");
}
