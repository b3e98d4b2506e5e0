//! Descriptors of files (`google/protobuf/descriptor.proto`), reduced to what the encoding of
//! messages depends on. Options, comments and default values are not read, so that nothing in them
//! reaches the library that interprets the rest. Nothing is checked here.

use prost::Message;

/// A set of files, as `protoc --descriptor_set_out` writes it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DescriptorSet {
    #[prost(message, repeated, tag = "1")]
    pub(crate) file: Vec<FileDescription>,
}

/// A file: `FileDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) package: String,
    #[prost(string, repeated, tag = "3")]
    pub(crate) dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) message_type: Vec<MessageDescription>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) enum_type: Vec<EnumDescription>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) service: Vec<ServiceDescription>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) extension: Vec<FieldDescription>,
    #[prost(message, optional, tag = "8")]
    pub(crate) options: Option<FileOptions>,
    #[prost(int32, repeated, packed = "false", tag = "10")]
    pub(crate) public_dependency: Vec<i32>,
    #[prost(string, optional, tag = "12")]
    pub(crate) syntax: Option<String>,
    #[prost(int32, optional, tag = "14")]
    pub(crate) edition: Option<i32>,
}

/// Options of a file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileOptions {
    #[prost(message, optional, tag = "50")]
    pub(crate) features: Option<Features>,
}

/// A message: `DescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MessageDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) field: Vec<FieldDescription>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) nested_type: Vec<MessageDescription>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) enum_type: Vec<EnumDescription>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) extension_range: Vec<ExtensionRange>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) extension: Vec<FieldDescription>,
    #[prost(message, optional, tag = "7")]
    pub(crate) options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) oneof_decl: Vec<OneofDescription>,
}

/// Options of a message.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MessageOptions {
    #[prost(bool, optional, tag = "7")]
    pub(crate) map_entry: Option<bool>,
    #[prost(message, optional, tag = "12")]
    pub(crate) features: Option<Features>,
}

/// Numbers that extensions of a message may have.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExtensionRange {
    #[prost(int32, optional, tag = "1")]
    pub(crate) start: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) end: Option<i32>,
}

/// A field or an extension: `FieldDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, optional, tag = "2")]
    pub(crate) extendee: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) number: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(crate) label: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) r#type: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) type_name: Option<String>,
    #[prost(message, optional, tag = "8")]
    pub(crate) options: Option<FieldOptions>,
    #[prost(int32, optional, tag = "9")]
    pub(crate) oneof_index: Option<i32>,
    #[prost(string, optional, tag = "10")]
    pub(crate) json_name: Option<String>,
    #[prost(bool, optional, tag = "17")]
    pub(crate) proto3_optional: Option<bool>,
}

/// Options of a field.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldOptions {
    #[prost(bool, optional, tag = "2")]
    pub(crate) packed: Option<bool>,
    #[prost(message, optional, tag = "21")]
    pub(crate) features: Option<Features>,
}

/// A choice of fields: `OneofDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneofDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// An enumeration: `EnumDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EnumDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) value: Vec<EnumValueDescription>,
    #[prost(message, optional, tag = "3")]
    pub(crate) options: Option<EnumOptions>,
}

/// A value of an enumeration.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EnumValueDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int32, optional, tag = "2")]
    pub(crate) number: Option<i32>,
}

/// Options of an enumeration.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EnumOptions {
    #[prost(bool, optional, tag = "2")]
    pub(crate) allow_alias: Option<bool>,
}

/// A service: `ServiceDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServiceDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) method: Vec<MethodDescription>,
}

/// A method: `MethodDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MethodDescription {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) input_type: String,
    #[prost(string, tag = "3")]
    pub(crate) output_type: String,
    #[prost(bool, optional, tag = "5")]
    pub(crate) client_streaming: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub(crate) server_streaming: Option<bool>,
}

/// Features of an edition (`FeatureSet`) that change the bytes of messages.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Features {
    #[prost(int32, optional, tag = "1")]
    pub(crate) field_presence: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) repeated_field_encoding: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) message_encoding: Option<i32>,
}

/// Types of fields, by number: `FieldDescriptorProto.Type`.
pub(crate) mod field_type {
    pub(crate) const DOUBLE: i32 = 1;
    pub(crate) const FLOAT: i32 = 2;
    pub(crate) const GROUP: i32 = 10;
    pub(crate) const MESSAGE: i32 = 11;
    pub(crate) const BYTES: i32 = 12;
    pub(crate) const ENUM: i32 = 14;
    pub(crate) const LAST: i32 = 18;
}

/// Labels of fields, by number: `FieldDescriptorProto.Label`.
pub(crate) mod field_label {
    pub(crate) const REQUIRED: i32 = 2;
    pub(crate) const REPEATED: i32 = 3;
}

impl MessageDescription {
    /// True if it is the entry of a map.
    pub(crate) fn is_map_entry(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.map_entry())
    }
}
