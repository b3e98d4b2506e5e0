"""Intervals by SciPy, which tests of weir-stats compare with their own.

Each line is a function with its parameters, its inputs and its results, separated by bars.
"""

import itertools

import numpy as np
from scipy import optimize, stats

random = np.random.default_rng(28)


def line(name, *groups):
    print(" | ".join([name] + [" ".join(f"{float(it):.15g}" for it in group) for group in groups]))


def signed_rank_interval(differences, level):
    """All centres that SciPy's exact signed-rank test does not reject, by trying each stretch
    between neighbouring means of two differences."""
    pairs = itertools.combinations_with_replacement(differences, 2)
    walsh = np.sort([(one + other) / 2 for one, other in pairs])
    inside = [
        (low, high)
        for low, high in zip(walsh, walsh[1:])
        if stats.wilcoxon(differences - (low + high) / 2, method="exact").pvalue > level
    ]
    return inside[0][0], np.median(walsh), inside[-1][1]


def paired():
    for count, level in itertools.product((6, 7, 8, 10, 12, 14), (0.05, 0.018)):
        if 2 * 0.5**count > level:
            continue
        a = random.lognormal(0, 0.05, count).round(4)
        b = random.lognormal(0.03, 0.05, count).round(4)
        differences = np.log(b / a)
        flipped = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        found = signed_rank_interval(differences, level)
        line(f"paired {level}", a, b, [*found, flipped.pvalue])


def unpaired():
    for of_a, of_b in ((6, 6), (6, 9), (8, 8), (12, 10)):
        a = random.lognormal(0, 0.05, of_a).round(4)
        b = random.lognormal(0.04, 0.05, of_b).round(4)
        ranked = stats.mannwhitneyu(a, b, method="exact")
        # The bootstrap of a median takes few values; averages of many runs of it differ by less
        # than the tolerance of the test.
        medians = stats.bootstrap(
            (np.log(a), np.log(b)),
            lambda a, b, axis: np.median(b, axis=axis) - np.median(a, axis=axis),
            method="percentile",
            n_resamples=200_000,
            batch=20_000,
            rng=random,
        ).confidence_interval
        effect = np.median(np.log(b)) - np.median(np.log(a))
        line("unpaired", a, b, [medians.low, effect, medians.high, ranked.pvalue])


def mean():
    for count, confidence in ((2, 0.95), (6, 0.95), (10, 0.99), (30, 0.95)):
        values = random.normal(1_000, 50, count).round(1)
        low, high = stats.t.interval(
            confidence, count - 1, loc=values.mean(), scale=stats.sem(values)
        )
        line(f"mean {confidence}", values, [low, values.mean(), high])


def percentile():
    """The interval of METHOD 1.11, then that of independent requests from the binomial
    distribution of a rank, which many slices of equal size come near to."""
    for p, slices, spread in ((0.5, 30, 0.0), (0.9, 30, 0.3), (0.99, 30, 0.9), (0.995, 12, 0.5)):
        counts = random.integers(900, 1_100, slices)
        shares = np.minimum(0.9, (1 - p) * random.lognormal(0, spread, slices))
        beyond = random.binomial(counts, shares)
        n, q = counts.sum(), beyond.sum() / counts.sum()
        residuals = beyond - q * counts
        deff = max(1, slices * residuals.var(ddof=1) / (n * q * (1 - q)))
        skewness = stats.skew(residuals) * ((slices - 1) / slices) ** 1.5
        t = stats.t.ppf(0.975, slices - 1)
        se = np.sqrt(p * (1 - p) * deff / n)
        k = (1 + 2 * t**2) / (6 * np.sqrt(slices))
        low = p - se * (t + k * max(0, -skewness))
        high = p + se * (t + k * max(0, skewness))
        line(f"percentile {p}", counts, beyond, [low, high, deff])
    for p in (0.5, 0.9, 0.99):
        slices, count = 500, 1_000
        ranks = stats.binom.ppf([0.025, 0.975], slices * count, p) / (slices * count)
        line(f"ranks {p}", [slices, count, round(count * (1 - p))], ranks)


def ratio():
    """Normal logarithms: the interval of their difference."""
    for one, other, spreads in ((100, 80, (0.02, 0.05)), (3.2, 3.0, (0.1, 0.01))):
        ends = [stats.norm.interval(0.95, np.log(it), s) for it, s in zip((one, other), spreads)]
        both = stats.norm.interval(0.95, np.log(one / other), np.hypot(*spreads))
        estimates = [np.exp([low, np.log(it), high]) for it, (low, high) in zip((one, other), ends)]
        line("ratio", *estimates, np.exp([both[0], np.log(one / other), both[1]]))


def share():
    for count, beyond in ((1_000, 0), (40, 0), (500, 500)):
        ends = stats.binomtest(beyond, count).proportion_ci(0.99, method="exact")
        line("share", [count], [beyond], ends)
    for spread in (0.0, 1.0):
        counts = random.integers(900, 1_100, 20)
        beyond = random.binomial(counts, np.minimum(0.5, 0.02 * random.lognormal(0, spread, 20)))
        n, q = counts.sum(), beyond.sum() / counts.sum()
        variance = max(20 * (beyond - q * counts).var(ddof=1) / n**2, q * (1 - q) / n)
        # The delta method: the standard error of ln q.
        ends = np.exp(stats.t.interval(0.99, 19, loc=np.log(q), scale=np.sqrt(variance) / q))
        line("share", counts, beyond, ends)


def slope():
    for count, confidence in ((3, 0.95), (10, 0.99), (30, 0.95)):
        x = np.sort(random.uniform(0, 60, count)).round(2)
        y = (5 + 0.3 * x + random.normal(0, 2, count)).round(3)
        fit = stats.linregress(x, y)
        half = stats.t.ppf((1 + confidence) / 2, count - 2) * fit.stderr
        line(f"slope {confidence}", x, y, [fit.slope - half, fit.slope, fit.slope + half])


def law(connections, rate, sigma, kappa):
    others = connections - 1
    return rate * connections / (1 + sigma * others + kappa * connections * others)


def scalability():
    """The law of Gunther with the bootstrap of METHOD 1.14, by SciPy's bounded least squares."""
    connections = np.array([1, 2, 4, 8, 16, 32, 64], float)
    true = law(connections, 1_000, 0.05, 0.0005)
    runs = (true[:, None] * (1 + random.normal(0, 0.01, (7, 3)))).round(1)
    means = runs.mean(axis=1)

    def fitted(values):
        start = (values[0], 0.03, 1e-4)
        bounds = ([0, 0, 0], [np.inf, 1, np.inf])
        # The weight of a point is 1/X̄², that of the observed mean.
        scale = (1_000, 0.05, 5e-4)
        return optimize.curve_fit(
            law, connections, values, start, sigma=means, bounds=bounds, x_scale=scale
        )[0]

    deviations = ((runs / means[:, None] - 1) * np.sqrt(3 / 2)).ravel()
    drawn = random.choice(deviations, (2_000, 7, 3)).mean(axis=2)
    resampled = np.array([fitted(means * (1 + it)) for it in drawn])
    low, high = np.percentile(resampled, [2.5, 97.5], axis=0)
    line("scalability", connections, runs.ravel(), low, fitted(means), high)


def quantiles():
    for p, df in ((0.975, 5), (0.995, 11.5), (0.991, 19), (0.975, 1_000)):
        line(f"t {p} {df}", [stats.t.ppf(p, df)])
    for p in (0.009, 0.025, 0.9995):
        line(f"normal {p}", [stats.norm.ppf(p)])
    for hits, trials, p in ((3, 20, 0.1), (990, 1_000, 0.995), (12, 4_000, 0.004)):
        line(f"binomial {hits} {trials} {p}", [stats.binom.cdf(hits, trials, p)])


for part in (paired, unpaired, mean, percentile, ratio, share, slope, scalability, quantiles):
    part()
