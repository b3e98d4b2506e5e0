//! Access of a runner to its machine: the values of templates, files, and the limits that others
//! have.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use weir_io::Endpoint;
use weir_result::Plan;

use crate::input::{SETTINGS_MAX_BYTES, read_text_input};
use crate::permissions::Permissions;
use crate::spec::RunSpec;

/// Value of a constant that only agents have: it is planned with, and never sent.
const ELSEWHERE: &str = "elsewhere";

/// Access of runs to the machine on which they are planned.
#[derive(Clone, Debug, Default)]
pub enum MachineAccess {
    /// All that its user has.
    #[default]
    Full,
    /// As far as it is permitted: others specify the runs.
    Limited(Arc<Permissions>),
    /// The runs are planned here and carried out by agents, each with the values of its machine for
    /// `{{env:NAME}}` and `{{file:PATH}}`.
    ByAgents {
        /// True if all agents are on this machine. Otherwise no name is resolved here: this machine
        /// may have neither the names nor a way to the target.
        are_here: bool,
    },
}

impl MachineAccess {
    /// Returns the limits of runs; none if they have none.
    fn permissions(&self) -> Option<&Permissions> {
        match self {
            MachineAccess::Limited(permissions) => Some(permissions),
            MachineAccess::Full | MachineAccess::ByAgents { .. } => None,
        }
    }

    /// True if the target is on no network of this machine, as far as is known here.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self, MachineAccess::ByAgents { are_here: false })
    }

    /// Checks all of a specification that can be checked before a name is resolved.
    ///
    /// # Errors
    /// When it executes, watches or reads more than is permitted.
    pub(crate) fn check_spec(&self, spec: &RunSpec) -> Result<()> {
        self.permissions().map_or(Ok(()), |permissions| permissions.check_spec(spec))
    }

    /// Keeps the addresses of a host to which a load may connect.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn permitted(&self, all: Vec<Endpoint>) -> Result<Vec<Endpoint>> {
        match self.permissions() {
            Some(permissions) => permissions.permitted(all),
            None => Ok(all),
        }
    }

    /// Checks the addresses of a load, or of a connection before it.
    ///
    /// # Errors
    /// When one is not permitted.
    pub(crate) fn check_endpoints<'e>(
        &self,
        mut endpoints: impl Iterator<Item = &'e Endpoint>,
    ) -> Result<()> {
        self.permissions().map_or(Ok(()), |it| it.check_endpoints(&mut endpoints))
    }

    /// Checks the size of a planned load.
    ///
    /// # Errors
    /// When the own part is larger than is permitted.
    pub(crate) fn check_plan(&self, plan: &Plan) -> Result<()> {
        self.permissions().map_or(Ok(()), |permissions| permissions.check_plan(plan))
    }

    /// Returns the value of an environment variable.
    ///
    /// # Errors
    /// When it may not be read, or there is none; a message for the user.
    pub(crate) fn variable(&self, name: &str) -> Result<String, String> {
        if let MachineAccess::ByAgents { .. } = self {
            return Ok(ELSEWHERE.to_owned());
        }
        let check = |permissions: &Permissions| permissions.check_variable(name);
        self.permissions().map_or(Ok(()), check).map_err(|error| error.to_string())?;
        std::env::var(name).map_err(|_| "there is no such variable".to_owned())
    }

    /// Returns the text of a file that a template names, without its last line end.
    ///
    /// # Errors
    /// When it may not or cannot be read; a message for the user.
    pub(crate) fn text_of(&self, path: &str) -> Result<String, String> {
        if let MachineAccess::ByAgents { .. } = self {
            return Ok(ELSEWHERE.to_owned());
        }
        self.check_file(Path::new(path)).map_err(|error| error.to_string())?;
        let text = read_text_input("the file", Path::new(path), SETTINGS_MAX_BYTES);
        let text = text.map_err(|error| format!("{error:#}"))?;
        // A line of a file, such as a token, ends with a line end.
        let line = text.strip_suffix('\n').unwrap_or(&text);
        Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
    }

    /// Checks that a file may be read.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn check_file(&self, path: &Path) -> Result<()> {
        self.permissions().map_or(Ok(()), |permissions| permissions.check_file(path))
    }
}
