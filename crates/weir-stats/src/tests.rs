//! Random numbers of simulated studies, from a seed.

use crate::shuffle::Shuffle;

pub(crate) struct Noise(Shuffle);

impl Noise {
    pub(crate) fn new() -> Noise {
        Noise(Shuffle::new())
    }

    /// Returns another sequence for every seed.
    pub(crate) fn seeded(seed: u64) -> Noise {
        // The generator counts from its seed: close ones would give overlapping sequences.
        Noise(Shuffle::seeded(Shuffle::seeded(seed).next()))
    }

    /// Returns a standard normal number (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let mut unit = || (self.0.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * unit();
        radius * angle.cos()
    }

    /// Returns a number of Student's distribution with 3 degrees of freedom: symmetric, with
    /// infinite kurtosis and standard deviation √3.
    pub(crate) fn student3(&mut self) -> f64 {
        let mut square = || self.normal().powi(2);
        let spread = ((square() + square() + square()) / 3.0).sqrt();
        self.normal() / spread
    }

    /// Returns true in half of the calls.
    pub(crate) fn coin(&mut self) -> bool {
        self.0.next() >> 63 == 1
    }
}
