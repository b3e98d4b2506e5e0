//! The conversation of a user with a language model so far: what `{{history}}` stands for.

use serde_json::Value;

/// The messages of a conversation, as the members `role` and `content` of JSON objects.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Messages of the turns that have an answer, with commas between them.
    settled: Vec<u8>,
    /// Messages that the user sends in this turn.
    turn: Vec<u8>,
}

impl History {
    /// Returns the text for the user's messages of this turn, in the place of those of the last.
    pub fn turn_mut(&mut self) -> &mut Vec<u8> {
        self.turn.clear();
        &mut self.turn
    }

    /// Adds the messages of this turn, and the model's answer to them, if it was kept.
    pub fn settle(&mut self, answer: Option<&[u8]>) {
        let History { settled, turn } = self;
        let mut add = |message: &[u8]| {
            if !settled.is_empty() {
                settled.push(b',');
            }
            settled.extend_from_slice(message);
        };
        if !turn.is_empty() {
            add(turn);
        }
        if let Some(answer) = answer {
            add(message("assistant", &String::from_utf8_lossy(answer)).as_bytes());
        }
        turn.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.settled.clear();
        self.turn.clear();
    }

    /// Returns the length of the array of all messages, in bytes.
    pub(crate) fn length(&self) -> usize {
        self.settled.len() + self.turn.len() + 2 + usize::from(self.has_both())
    }

    /// Appends the array of all messages.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(b'[');
        bytes.extend_from_slice(&self.settled);
        if self.has_both() {
            bytes.push(b',');
        }
        bytes.extend_from_slice(&self.turn);
        bytes.push(b']');
    }

    fn has_both(&self) -> bool {
        !self.settled.is_empty() && !self.turn.is_empty()
    }
}

/// Returns a message as a JSON object.
pub(crate) fn message(role: &str, content: &str) -> String {
    let [role, content] = [role, content].map(|text| Value::from(text).to_string());
    format!(r#"{{"role":{role},"content":{content}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(history: &History) -> String {
        let mut bytes = Vec::new();
        history.write(&mut bytes);
        assert_eq!(bytes.len(), history.length());
        String::from_utf8(bytes).expect("text")
    }

    /// The bytes are those of `json.dumps` in Python with `ensure_ascii=False` and no blanks.
    #[test]
    fn a_conversation_grows_by_turns() {
        let mut history = History::default();
        assert_eq!(written(&history), "[]");
        let user = r#"{"role":"user","content":"Hi"}"#;
        history.turn_mut().extend_from_slice(user.as_bytes());
        assert_eq!(written(&history), format!("[{user}]"));
        history.settle(Some("\"ü\"\\\n\u{7}\u{7f}/".as_bytes()));
        let first = format!(
            "{user},{{\"role\":\"assistant\",\"content\":\"\\\"ü\\\"\\\\\\n\\u0007\u{7f}/\"}}"
        );
        assert_eq!(written(&history), format!("[{first}]"));
        history.turn_mut().extend_from_slice(user.as_bytes());
        history.turn_mut().extend_from_slice(user.as_bytes());
        assert_eq!(written(&history), format!("[{first},{user}]"));
        history.settle(None);
        assert_eq!(written(&history), format!("[{first},{user}]"));
        history.clear();
        assert_eq!(written(&history), "[]");
    }
}
