//! Checks of the target and of the client beside the load.

use serde::{Deserialize, Serialize};

/// Checks beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckSpec {
    /// True if one request checks the URL before the load.
    pub preflight: bool,
    /// Probe thread beside the load.
    pub witness: WitnessChoice,
    /// True if the client's noise floor is measured before the load.
    pub selfcheck: bool,
    /// True if the load is repeated with one more thread after it.
    pub prove_client: bool,
}

impl Default for CheckSpec {
    fn default() -> CheckSpec {
        CheckSpec {
            preflight: true,
            witness: WitnessChoice::Auto,
            selfcheck: false,
            prove_client: false,
        }
    }
}

/// Choice of the probe thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WitnessChoice {
    /// Where a CPU is idle.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}
