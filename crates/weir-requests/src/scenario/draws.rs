//! The random decisions of one user: pure functions of the seed, the user's number and the step.

use crate::list::mixed;
use crate::scenario::StepTurn;

/// The random decisions of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserDraws {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the user in the run, from 0.
    pub user: u64,
}

/// A decision about a turn. Two of them are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    Chance = 1,
    Think = 2,
}

impl UserDraws {
    /// Returns the number that decides about a turn; all values are equally likely.
    pub(super) fn draw(self, turn: StepTurn, decision: Decision) -> u64 {
        let turn = u64::from(turn.step) << 32 | u64::from(turn.visit) << 8 | decision as u64;
        mixed(mixed(self.seed, self.user), turn)
    }

    /// Returns the bits of the id of the user's session.
    pub fn session(self) -> [u64; 2] {
        // Numbers of their own, apart from those of turns.
        [1 << 63, 1 << 63 | 1].map(|half| mixed(mixed(self.seed, self.user), half))
    }

    /// Returns the seed of the random values in the request of a turn: that of the run on the first
    /// visit of the first step, so that this is sent as a row of a list, and another one on each
    /// further visit and step.
    pub fn seed_of(self, turn: StepTurn) -> u64 {
        match u64::from(turn.step) << 32 | u64::from(turn.visit) {
            0 => self.seed,
            place => mixed(self.seed, place),
        }
    }
}

/// Returns the share in [0, 1) that a number stands for.
pub(super) fn share(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
