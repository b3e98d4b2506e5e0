//! A method of a service: its kind, and its messages.

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::Value;

use crate::error::SchemaError;
use crate::method_name::MethodKind;

/// A method of a service.
#[derive(Clone, Debug)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Method {
    pub(crate) fn of(descriptor: MethodDescriptor) -> Method {
        Method { descriptor }
    }

    /// Returns its kind.
    pub fn kind(&self) -> MethodKind {
        match (self.descriptor.is_client_streaming(), self.descriptor.is_server_streaming()) {
            (false, false) => MethodKind::Unary,
            (true, false) => MethodKind::ClientStreaming,
            (false, true) => MethodKind::ServerStreaming,
            (true, true) => MethodKind::Bidirectional,
        }
    }

    /// Returns the messages of a request in protobuf. `json` is the JSON form of one; if the client
    /// may stream, of any number: one after the other, or in an array.
    ///
    /// # Errors
    /// If it is no JSON of the messages, or the method takes another number of them.
    pub fn requests(&self, json: &[u8]) -> Result<Vec<Vec<u8>>, SchemaError> {
        let input = self.descriptor.input();
        let failed = |error: serde_json::Error| json_error(&input, &error);
        let values = serde_json::Deserializer::from_slice(json).into_iter::<Value>();
        let mut values: Vec<Value> = values.collect::<Result<_, _>>().map_err(failed)?;
        if self.kind().streams_requests() {
            if let [Value::Array(all)] = &mut values[..] {
                values = std::mem::take(all);
            }
        } else if values.len() != 1 {
            return Err(SchemaError::Messages { count: values.len() });
        }
        let message = |value| DynamicMessage::deserialize(input.clone(), value);
        let encoded = |value| message(value).map(|message| message.encode_to_vec());
        values.into_iter().map(encoded).collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns the JSON form of a message of a request.
    ///
    /// # Errors
    /// If the bytes are no protobuf of it.
    pub fn request(&self, bytes: &[u8]) -> Result<String, SchemaError> {
        json_of(&self.descriptor.input(), bytes)
    }

    /// Returns the JSON form of a message of a response.
    ///
    /// # Errors
    /// If the bytes are no protobuf of it.
    pub fn response(&self, bytes: &[u8]) -> Result<String, SchemaError> {
        json_of(&self.descriptor.output(), bytes)
    }
}

fn json_of(of: &MessageDescriptor, bytes: &[u8]) -> Result<String, SchemaError> {
    let text = DynamicMessage::decode(of.clone(), bytes)
        .map_err(|error| error.to_string())
        .and_then(|message| serde_json::to_string(&message).map_err(|error| error.to_string()));
    let message = of.full_name().to_owned();
    text.map_err(|reason| SchemaError::Protobuf { message, reason })
}

fn json_error(message: &MessageDescriptor, error: &serde_json::Error) -> SchemaError {
    SchemaError::Json { message: message.full_name().to_owned(), reason: error.to_string() }
}
