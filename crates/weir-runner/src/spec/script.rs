//! The script of a run and its arguments.

use serde::{Deserialize, Serialize};

use super::InputFile;

/// Default of [`ScriptSpec::memory_bytes`].
const MEMORY_BYTES: u64 = 256 << 20;

/// Script of the load. Modules that it loads by itself are not part of the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptSpec {
    /// File of the script.
    pub file: InputFile,
    /// Arguments of the script, after the URL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Memory for the response bodies that the script sees, over all connections, in bytes.
    #[serde(default = "memory_bytes")]
    pub memory_bytes: u64,
}

fn memory_bytes() -> u64 {
    MEMORY_BYTES
}

/// A script without a name, as a base for others.
impl Default for ScriptSpec {
    fn default() -> ScriptSpec {
        ScriptSpec { file: InputFile::at(""), args: Vec::new(), memory_bytes: MEMORY_BYTES }
    }
}
