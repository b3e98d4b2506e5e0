//! The body of a request: text, a file or filler. A file is read once, straight into the request,
//! so that memory holds it once. The module contains nothing about requests except their maximum
//! size.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use weir_machine::sys;
use weir_result::document::Input;
use weir_text::setting::{BODY, BODY_SIZE, FORM_FIELD};
use weir_text::units;

use crate::errors::shown;
use crate::prepare::form;
use crate::spec::BodySpec;

/// Maximum size of a request, in bytes: a larger one might not fit a single send to the kernel.
pub(crate) const REQUEST_MAX_BYTES: u64 = 1 << 30;

/// Maximum bytes read from a source of unknown length: a pipe, a device. Memory holds them twice.
const UNSIZED_MAX_BYTES: u64 = 64 << 20;

/// A body whose length is known.
#[derive(Debug)]
pub(crate) enum Body {
    /// Text, or content that has been read.
    Bytes(Vec<u8>),
    /// Content of a form, and the files in it.
    Form(Vec<u8>, Vec<Input>),
    /// This many equal bytes.
    Filler(usize),
    /// A file that has not been read.
    File {
        /// Path of the file.
        path: PathBuf,
        /// The open file.
        file: File,
        /// Length in bytes when it was opened.
        bytes: usize,
    },
}

impl Body {
    /// Opens a body.
    ///
    /// # Errors
    /// When the file cannot be read or is too long.
    pub(crate) fn of(spec: &BodySpec) -> Result<Body> {
        let file = match spec {
            BodySpec::Text(text) => return Ok(Body::Bytes(text.as_bytes().to_owned())),
            BodySpec::Filler(bytes) if *bytes > REQUEST_MAX_BYTES => {
                bail!("{BODY_SIZE} {}: send 1 GiB at most", units::bytes(*bytes))
            }
            BodySpec::Filler(bytes) => return Ok(Body::Filler(usize::try_from(*bytes)?)),
            BodySpec::Form(fields) => {
                let (bytes, inputs) = form::body(fields)?;
                if bytes.len() as u64 > REQUEST_MAX_BYTES {
                    bail!("{FORM_FIELD}: the form is larger than 1 GiB");
                }
                return Ok(Body::Form(bytes, inputs));
            }
            BodySpec::File(file) => file,
        };
        if let Some(content) = &file.content {
            return Ok(Body::Bytes(content.clone()));
        }
        let path = &*file.path;
        let file = sys::open_input(path).with_context(|| unreadable(path))?;
        let found = file.metadata().with_context(|| unreadable(path))?;
        // Files of proc(5) are regular, and 0 bytes long whatever is in them.
        if !found.is_file() || found.len() == 0 {
            return Body::of_unknown_length(path, file);
        }
        if found.len() > REQUEST_MAX_BYTES {
            let bytes = units::bytes(found.len());
            bail!("{BODY} {} has {bytes}: send 1 GiB at most", named(path));
        }
        let bytes = usize::try_from(found.len())?;
        Ok(Body::File { path: path.to_owned(), file, bytes })
    }

    /// Opens a body that is part of the specification; `None` if it is read from a file.
    ///
    /// # Errors
    /// When it is too long.
    pub(crate) fn given(spec: &BodySpec) -> Result<Option<Body>> {
        let is_read = match spec {
            BodySpec::File(_) => true,
            BodySpec::Form(fields) => form::is_multipart(fields),
            BodySpec::Text(_) | BodySpec::Filler(_) => false,
        };
        (!is_read).then(|| Body::of(spec)).transpose()
    }

    fn of_unknown_length(path: &Path, file: File) -> Result<Body> {
        let mut bytes = Vec::new();
        let mut limited = file.take(UNSIZED_MAX_BYTES + 1);
        let count = limited.read_to_end(&mut bytes).with_context(|| unreadable(path))?;
        if count as u64 > UNSIZED_MAX_BYTES {
            bail!(
                "{BODY} {} does not end within 64 MiB: save the body in a file and name it",
                named(path)
            );
        }
        Ok(Body::Bytes(bytes))
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Body::Bytes(bytes) | Body::Form(bytes, _) => bytes.len(),
            Body::Filler(bytes) | Body::File { bytes, .. } => *bytes,
        }
    }

    /// Fills `room`, which is as long as the body.
    ///
    /// # Errors
    /// When the file cannot be read, or has become shorter.
    pub(crate) fn fill(&self, room: &mut [u8]) -> Result<()> {
        match self {
            Body::Bytes(bytes) | Body::Form(bytes, _) => room.copy_from_slice(bytes),
            Body::Filler(_) => room.fill(b'x'),
            Body::File { path, file, .. } => {
                let mut file: &File = file;
                let read = file.read_exact(room).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => io::Error::other("it has become shorter"),
                    _ => error,
                });
                read.with_context(|| unreadable(path))?;
            }
        }
        Ok(())
    }
}

fn named(path: &Path) -> String {
    format!("@{}", shown(path))
}

fn unreadable(path: &Path) -> String {
    format!("{BODY} {} cannot be read", named(path))
}
