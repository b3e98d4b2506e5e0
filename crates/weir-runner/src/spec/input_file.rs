//! A file that a run reads: its name, and what it must hold. The content may be kept here, so that
//! a specification can leave its machine.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_result::document::{Input, InputRole};
use weir_text::Setting;

use crate::digest::sha256;
use crate::errors::shown;
use crate::input::read_input;

/// A file that a run reads. Its `Debug` form leaves out the content, which may be a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// Path as the user named it.
    pub path: PathBuf,
    /// Length in bytes; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// SHA-256 of the content, in hexadecimal; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Content, in base64; absent: it is read from `path`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "to_base64",
        deserialize_with = "from_base64"
    )]
    pub content: Option<Vec<u8>>,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputFile { path, bytes, sha256, .. } = self;
        f.debug_struct("InputFile")
            .field("path", path)
            .field("bytes", bytes)
            .field("sha256", sha256)
            .finish_non_exhaustive()
    }
}

impl InputFile {
    /// Returns the file at `path`, whatever it holds.
    pub fn at(path: impl Into<PathBuf>) -> InputFile {
        InputFile { path: path.into(), bytes: None, sha256: None, content: None }
    }

    /// Returns the content of the file that `setting` names: the one that is kept, or its own.
    ///
    /// # Errors
    /// When it cannot be read, or has more than `limit` bytes.
    pub(crate) fn read(&self, setting: Setting, limit: u64) -> Result<Vec<u8>> {
        match &self.content {
            Some(content) => Ok(content.clone()),
            None => read_input(setting, &self.path, limit),
        }
    }

    /// Verifies the length in bytes and the SHA-256 of the content, and returns the description.
    ///
    /// # Errors
    /// When it is not the file that was specified.
    pub(crate) fn verify(&self, role: InputRole, content: &[u8]) -> Result<Input> {
        self.verify_digest(role, content.len() as u64, sha256(content))
    }

    /// As [`InputFile::verify`], of a content with this length and SHA-256.
    pub(crate) fn verify_digest(
        &self,
        role: InputRole,
        bytes: u64,
        sha256: String,
    ) -> Result<Input> {
        let has_digest = self.sha256.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(&sha256));
        if !has_digest || self.bytes.is_some_and(|own| own != bytes) {
            bail!(
                "{} {} is not the file that was specified: it has {bytes} bytes and SHA-256 \
                 {sha256}; restore it, or specify the run again",
                role.setting(),
                shown(&self.path)
            );
        }
        let path = self.path.to_string_lossy().into_owned();
        Ok(Input { role, path, bytes, sha256 })
    }
}

fn to_base64<S: Serializer>(content: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    content.as_ref().map(|content| BASE64_STANDARD.encode(content)).serialize(serializer)
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::sha256;

    #[test]
    fn another_file_is_refused() {
        let file = InputFile { bytes: Some(3), sha256: Some(sha256(b"abc")), ..InputFile::at("a") };
        let verify = |content: &[u8]| file.verify(InputRole::Body, content);
        assert_eq!(verify(b"abc").expect("the same").bytes, 3);
        for other in [&b"abd"[..], b"abcd"] {
            let error = verify(other).expect_err("another content").to_string();
            assert!(
                error.starts_with("`request.body` a is not the file that was specified"),
                "{error}"
            );
        }
    }
}
