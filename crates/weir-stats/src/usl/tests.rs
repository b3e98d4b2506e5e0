//! Fits with known results: V22 of METHOD 2.1, and sweeps with injected noise.

use super::*;

fn points(connections: &[f64], throughputs: impl Fn(f64) -> Vec<f64>) -> Vec<SweepPoint> {
    connections
        .iter()
        .map(|&connections| SweepPoint { connections, throughputs: throughputs(connections) })
        .collect()
}

fn is_near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance * expected
}

/// Numbers of connections, ascending by a factor of two.
const GRID: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The SPEC SDM91 measurements, and their parameters by least squares in throughput.
#[test]
fn sdm91() {
    let sweep = [
        (1.0, 64.9),
        (18.0, 995.9),
        (36.0, 1652.4),
        (72.0, 1853.2),
        (108.0, 1828.9),
        (144.0, 1775.0),
        (216.0, 1702.2),
    ];
    let sweep = sweep.map(|(connections, x)| SweepPoint { connections, throughputs: vec![x] });
    let fit = fit_usl(&sweep).expect("7 points");
    let Usl { lambda, sigma, kappa } = fit.usl;
    assert!(is_near(lambda, 89.99, 0.005), "{fit:?}");
    assert!(is_near(sigma, 0.02773, 0.005), "{fit:?}");
    assert!(is_near(kappa, 1.044e-4, 0.005), "{fit:?}");
    assert!(is_near(fit.usl.peak(), 96.5, 0.005), "{fit:?}");
    // One run each: no intervals, and no confirmed peak.
    assert_eq!((fit.intervals, fit.peak), (None, None));
}

#[test]
fn exact_data_give_exact_parameters() {
    for (lambda, sigma, kappa) in [
        (1_000.0, 0.05, 1e-4),
        (1.0, 0.0, 0.0),
        (5e5, 0.0, 2e-5),
        (30.0, 0.4, 0.0),
        (70.0, 0.95, 1e-2),
        (1e6, 1e-3, 1e-8),
    ] {
        let truth = Usl { lambda, sigma, kappa };
        let fit = fit_usl(&points(&GRID, |n| vec![truth.throughput(n)])).expect("9 points");
        let worst = fit.residuals.iter().fold(0.0_f64, |worst, value| worst.max(value.abs()));
        assert!(worst < 1e-6, "{truth:?}: {:?} off by {worst}", fit.usl);
        assert!((fit.usl.sigma - sigma).abs() < 1e-6, "{truth:?}: {:?}", fit.usl);
        assert!((fit.usl.kappa - kappa).abs() < 1e-8 + 1e-5 * kappa, "{truth:?}: {:?}", fit.usl);
    }
}

/// Three runs per point with noise of 2%: the share of 95% intervals that contain the true value.
#[test]
fn intervals_cover() {
    let truth = Usl { lambda: 1_000.0, sigma: 0.03, kappa: 1e-4 };
    let mut random = Shuffle::new();
    // Sums of twelve uniform numbers are close enough to normal here.
    let mut noise = || {
        let sum: f64 = (0..12).map(|_| (random.next() >> 11) as f64 / (1_u64 << 53) as f64).sum();
        1.0 + 0.02 * (sum - 6.0)
    };
    let mut covered = [0; 3];
    let mut peaks = 0;
    let mut systematic = 0;
    let sweeps = 100;
    for _ in 0..sweeps {
        let sweep: Vec<_> = GRID
            .iter()
            .map(|&connections| SweepPoint {
                connections,
                throughputs: (0..3).map(|_| truth.throughput(connections) * noise()).collect(),
            })
            .collect();
        let fit = fit_usl(&sweep).expect("9 points");
        let intervals = fit.intervals.expect("3 runs each");
        let truths = [truth.lambda, truth.sigma, truth.kappa];
        for ((covered, interval), truth) in covered.iter_mut().zip(intervals).zip(truths) {
            *covered += u32::from((interval.low..=interval.high).contains(&truth));
        }
        let is_right = |peak: ValueInterval| (peak.low..=peak.high).contains(&truth.peak());
        peaks += u32::from(fit.peak.is_some_and(is_right));
        systematic += u32::from(fit.is_systematic);
    }
    assert!(covered.iter().all(|&count| count >= 88), "{covered:?} of {sweeps}");
    assert!(peaks >= 88 && systematic <= 10, "{peaks} {systematic}");
}

/// No crosstalk, or a peak far beyond the tried range, is no peak.
#[test]
fn a_peak_that_was_not_seen_is_not_claimed() {
    for kappa in [0.0, 1e-7] {
        let truth = Usl { lambda: 1_000.0, sigma: 0.03, kappa };
        let spread = [0.99, 1.0, 1.01];
        let sweep = points(&GRID, |n| spread.map(|part| part * truth.throughput(n)).to_vec());
        assert_eq!(fit_usl(&sweep).expect("9 points").peak, None, "{kappa}");
    }
}

/// Seven points cannot fail the check of the law, so they show no peak; eight can.
#[test]
fn a_peak_takes_the_points_of_the_check() {
    assert!(signs::p(&[1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]) >= SYSTEMATIC_P);
    assert!(signs::p(&[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]) < SYSTEMATIC_P);
    let truth = Usl { lambda: 1_000.0, sigma: 0.03, kappa: 1e-3 };
    let spread = [0.999, 1.0, 1.001];
    let fit = |grid: &[f64]| {
        let sweep = points(grid, |n| spread.map(|part| part * truth.throughput(n)).to_vec());
        fit_usl(&sweep).expect("a fit")
    };
    assert_eq!(fit(&GRID[..7]).peak, None);
    assert!(fit(&GRID[..8]).peak.is_some());
}

/// Linear up to 16 connections and flat from there: not the law's curve.
#[test]
fn another_curve_is_noticed() {
    let sweep = points(&GRID, |n| [0.999, 1.0, 1.001].map(|part| part * n.min(16.0)).to_vec());
    let fit = fit_usl(&sweep).expect("9 points");
    assert!(fit.residuals.iter().any(|value| value.abs() > 0.05), "{fit:?}");
}

#[test]
fn what_cannot_be_fitted() {
    assert_eq!(fit_usl(&[]), None);
    assert_eq!(fit_usl(&points(&GRID[..4], |n| vec![n])), None);
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            fit_usl(&points(&GRID, |n| vec![if n == 4.0 { odd } else { n }])),
            None,
            "{odd}"
        );
    }
    assert_eq!(fit_usl(&points(&GRID, |_| Vec::new())), None);
    let none = SweepPoint { connections: 0.0, throughputs: vec![1.0] };
    assert_eq!(fit_usl(&[points(&GRID, |n| vec![n]), vec![none]].concat()), None);
}

/// One number of connections five times is five points, but no curve; the fit must not fail.
#[test]
fn a_sweep_that_does_not_sweep() {
    let fit = fit_usl(&points(&[8.0; 5], |_| vec![100.0, 101.0])).expect("5 points");
    assert!(fit.usl.lambda.is_finite() && fit.peak.is_none(), "{fit:?}");
}
