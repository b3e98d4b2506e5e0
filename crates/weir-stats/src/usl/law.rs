//! The law itself: throughput as a function of the number of connections.

/// Universal Scalability Law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: throughput of one connection, above 0.
    pub lambda: f64,
    /// σ: share of the work that is serial, 0 to below 1.
    pub sigma: f64,
    /// κ: cost of coherency per pair of connections, at least 0.
    pub kappa: f64,
}

impl Usl {
    /// Returns the throughput X at this number of connections.
    pub fn throughput(&self, connections: f64) -> f64 {
        self.lambda * shape(connections, self.sigma, self.kappa)
    }

    /// Returns N* = √((1−σ)/κ), where X is largest; infinite without crosstalk.
    pub fn peak(&self) -> f64 {
        ((1.0 - self.sigma) / self.kappa).sqrt()
    }
}

/// Returns X/λ.
pub(super) fn shape(connections: f64, sigma: f64, kappa: f64) -> f64 {
    let others = connections - 1.0;
    connections / (1.0 + sigma * others + kappa * connections * others)
}
