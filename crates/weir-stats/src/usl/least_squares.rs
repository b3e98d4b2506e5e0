//! Weighted least squares for the law's fit.

/// Starting points of searches, besides the linear estimate: (σ, κ) from none to much of either.
const STARTS: [(f64, f64); 6] =
    [(0.0, 0.0), (0.01, 1e-6), (0.1, 1e-5), (0.5, 1e-4), (0.02, 1e-3), (0.9, 1e-2)];

/// Maximum number of steps per search; convergence is quadratic near the end, and 20 are usually
/// enough.
const STEPS_MAX: usize = 200;

/// Upper bound of σ, which stays below 1.
const SIGMA_MAX: f64 = 1.0 - 1e-9;

/// Returns the best fit over all starts. λ is not a search variable: for given σ and κ the best λ
/// is a quotient of sums.
pub(super) fn fit(connections: &[f64], throughputs: &[f64], weights: &[f64]) -> Usl {
    let points = connections.iter().zip(throughputs).zip(weights);
    let points: Vec<WeightedPoint> = points.map(|((n, x), weight)| (*n, *x, *weight)).collect();
    let searches = STARTS.into_iter().map(|(sigma, kappa)| descend(&points, sigma, kappa));
    let best = searches.min_by(|a, b| a.1.total_cmp(&b.1)).expect("some starts");
    best.0
}

/// Number of connections, throughput and weight of a point.
type WeightedPoint = (f64, f64, f64);

/// Descends from (σ, κ) by the Levenberg-Marquardt method, inside σ ∈ [0, 1) and κ ≥ 0. A
/// parameter at its bound whose step points outside stays fixed for that step. Returns the law
/// and its weighted square error.
fn descend(points: &[WeightedPoint], sigma: f64, kappa: f64) -> (Usl, f64) {
    let (mut at, mut error) = with_best_lambda(points, sigma, kappa);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let (matrix, gradient) = normal_equations(points, &at);
        let free = [
            (at.sigma > 0.0 || gradient[0] > 0.0) && (at.sigma < SIGMA_MAX || gradient[0] < 0.0),
            at.kappa > 0.0 || gradient[1] > 0.0,
        ];
        let [sigma, kappa] = step(matrix, gradient, free, damping);
        let (next, next_error) = with_best_lambda(
            points,
            (at.sigma + sigma).clamp(0.0, SIGMA_MAX),
            (at.kappa + kappa).max(0.0),
        );
        if next_error < error {
            let gained = (error - next_error) / error;
            (at, error, damping) = (next, next_error, damping / 10.0);
            if gained < 1e-14 {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    (at, error)
}

fn with_best_lambda(points: &[WeightedPoint], sigma: f64, kappa: f64) -> (Usl, f64) {
    let mut both = 0.0;
    let mut own = 0.0;
    for &(n, x, weight) in points {
        let shape = shape(n, sigma, kappa);
        both += weight * x * shape;
        own += weight * shape * shape;
    }
    let usl = Usl { lambda: both / own, sigma, kappa };
    let square = |&(n, x, weight): &WeightedPoint| weight * (x - usl.throughput(n)).powi(2);
    (usl, points.iter().map(square).sum())
}

/// Returns JᵀWJ and JᵀWr for σ and κ, with λ's part projected out: its column is the shape
/// itself.
fn normal_equations(points: &[WeightedPoint], at: &Usl) -> ([[f64; 2]; 2], [f64; 2]) {
    let square = |&(n, _, weight): &WeightedPoint| weight * shape(n, at.sigma, at.kappa).powi(2);
    let own: f64 = points.iter().map(square).sum();
    // Columns −X²/(λN)·(N−1) for σ, and N times that for κ.
    let column = |n: f64| {
        let x = at.throughput(n);
        let sigma = -x * x / (at.lambda * n) * (n - 1.0);
        [sigma, sigma * n]
    };
    let mut along = [0.0; 2];
    for &(n, _, weight) in points {
        let shape = shape(n, at.sigma, at.kappa);
        for (along, part) in along.iter_mut().zip(column(n)) {
            *along += weight * shape * part / own;
        }
    }
    let mut matrix = [[0.0; 2]; 2];
    let mut gradient = [0.0; 2];
    for &(n, x, weight) in points {
        let shape = shape(n, at.sigma, at.kappa);
        let raw = column(n);
        let column = [raw[0] - along[0] * shape, raw[1] - along[1] * shape];
        let residual = x - at.throughput(n);
        for i in 0..2 {
            gradient[i] += weight * column[i] * residual;
            (0..2).for_each(|j| matrix[i][j] += weight * column[i] * column[j]);
        }
    }
    (matrix, gradient)
}

/// Solves the damped equations for the free parameters; the others stay.
fn step(matrix: [[f64; 2]; 2], gradient: [f64; 2], free: [bool; 2], damping: f64) -> [f64; 2] {
    let diagonal = [matrix[0][0] * (1.0 + damping), matrix[1][1] * (1.0 + damping)];
    let alone = |i: usize| if diagonal[i] > 0.0 { gradient[i] / diagonal[i] } else { 0.0 };
    match free {
        [true, true] => {
            let across = matrix[0][1];
            let determinant = diagonal[0] * diagonal[1] - across * across;
            if determinant <= 0.0 {
                return [alone(0), 0.0];
            }
            [
                (diagonal[1] * gradient[0] - across * gradient[1]) / determinant,
                (diagonal[0] * gradient[1] - across * gradient[0]) / determinant,
            ]
        }
        [true, false] => [alone(0), 0.0],
        [false, true] => [0.0, alone(1)],
        [false, false] => [0.0, 0.0],
    }
}

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
fn shape(connections: f64, sigma: f64, kappa: f64) -> f64 {
    let others = connections - 1.0;
    connections / (1.0 + sigma * others + kappa * connections * others)
}
