//! The grade that `--strict` demands.

use clap::ValueEnum;
use weir_result::document::Grade;

/// `--strict`: the worst grade that exits with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strict {
    /// Only clean
    Clean,
    /// Clean or bounded
    Bounded,
}

impl Strict {
    /// The worst grade allowed.
    pub(crate) fn worst(self) -> Grade {
        match self {
            Strict::Clean => Grade::Clean,
            Strict::Bounded => Grade::Bounded,
        }
    }
}
