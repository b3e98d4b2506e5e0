//! The form in which expectations see the messages of a response to a call of gRPC. It knows no
//! schema: who has one passes in its JSON.

use std::fmt::{self, Debug};
use std::sync::Arc;

use weir_http::grpc::messages_of;

use crate::expect::decode_error::DecodeError;

/// The form in which expectations see messages of gRPC: their JSON, or their bytes.
#[derive(Clone, Default)]
pub struct CallContent {
    to_json: Option<Arc<ToJson>>,
    is_array: bool,
}

/// Returns the JSON of a message; an error is the reason why it has none.
type ToJson = dyn Fn(&[u8]) -> Result<String, String> + Send + Sync;

impl CallContent {
    /// Returns the form of messages with a schema: the JSON that `to_json` makes of each. They are
    /// an array if a response may have any number of messages.
    pub fn of_schema(
        is_array: bool,
        to_json: impl Fn(&[u8]) -> Result<String, String> + Send + Sync + 'static,
    ) -> CallContent {
        CallContent { to_json: Some(Arc::new(to_json)), is_array }
    }

    /// Appends the content of a body of messages to `out`; `head` is that of the response.
    pub(super) fn push(
        &self,
        head: &[u8],
        body: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        let failed = |reason: String| DecodeError::Messages(reason);
        let messages = messages_of(head, body, limit).map_err(|fault| failed(fault.to_string()))?;
        let Some(to_json) = &self.to_json else {
            messages.iter().for_each(|message| out.extend_from_slice(message));
            return Ok(());
        };
        out.extend(self.is_array.then_some(b'['));
        for (index, message) in messages.iter().enumerate() {
            out.extend((index > 0).then_some(if self.is_array { b',' } else { b'\n' }));
            out.extend_from_slice(to_json(message).map_err(failed)?.as_bytes());
        }
        out.extend(self.is_array.then_some(b']'));
        Ok(())
    }
}

impl Debug for CallContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContent").field("is_array", &self.is_array).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use weir_http::grpc::push_message;

    use super::*;

    /// Returns the content of messages in this form, of at most 100 bytes.
    fn content(form: &CallContent, messages: &[&[u8]]) -> Result<String, String> {
        let mut body = Vec::new();
        messages.iter().for_each(|message| push_message(&mut body, false, message));
        let mut out = Vec::new();
        let pushed = form.push(b"", &body, 100, &mut out).map_err(|error| error.to_string());
        pushed.map(|()| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn messages_have_the_form_of_their_schema() {
        let quoted = |message: &[u8]| match message {
            b"bad" => Err("it is bad".to_owned()),
            _ => Ok(format!("\"{}\"", String::from_utf8_lossy(message))),
        };
        let check = |form: &CallContent, messages: &[&[u8]], expected: &str| {
            assert_eq!(content(form, messages), Ok(expected.to_owned()));
        };
        let one = CallContent::of_schema(false, quoted);
        check(&one, &[b"a"], "\"a\"");
        check(&one, &[], "");
        let many = CallContent::of_schema(true, quoted);
        check(&many, &[b"a", b"b"], "[\"a\",\"b\"]");
        check(&many, &[], "[]");
        check(&CallContent::default(), &[b"a", b"b"], "ab");
        assert_eq!(content(&one, &[b"bad"]), Err("its messages: it is bad".to_owned()));
        let long = content(&one, &[&[0; 101]]).expect_err("it is longer");
        assert!(long.contains("above the limit"), "{long}");
    }
}
