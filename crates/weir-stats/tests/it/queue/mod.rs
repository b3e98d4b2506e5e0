//! Runs of queues with known percentiles (METHOD 2.3), as a document records them: histograms and
//! thirty slices. Deterministic, from a seed; the mean service time is 1.

use weir_stats::{
    SliceTail, Standing, Stationarity, Transient, guard_of, mean_interval, percentile_interval,
    t_quantile,
};

/// Slices of a window (METHOD 1.7).
pub(crate) const SLICES: usize = 30;

/// Arrival process and server. The number is the utilisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    /// Poisson arrivals, exponential response times, no queue.
    Independent,
    /// Poisson arrivals at a single server.
    MM1(f64),
    /// Uniform arrivals at a single server.
    DM1(f64),
    /// Poisson arrivals at a server with response time 1 that stalls at random, 60 times in 100,000
    /// requests, for a time of 50: requests that arrive during a stall wait for its end.
    Stalls,
}

impl Law {
    /// Returns the arrival rate, in requests per unit of time.
    pub(crate) fn rate(self) -> f64 {
        match self {
            Law::Independent | Law::Stalls => 1.0,
            Law::MM1(utilisation) | Law::DM1(utilisation) => utilisation,
        }
    }

    /// Returns the true percentile `p` (0 to 1) of the response time. It is exponential, except for
    /// stalls: an arrival waits more than x if a stall began in the S − x before it.
    pub(crate) fn quantile(self, p: f64) -> f64 {
        let decay = match self {
            Law::Independent => 1.0,
            Law::MM1(utilisation) => 1.0 - utilisation,
            Law::DM1(utilisation) => {
                let step = |sigma: f64| ((sigma - 1.0) / utilisation).exp();
                1.0 - (0..1_000).fold(0.5, |sigma, _| step(sigma))
            }
            Law::Stalls => return 1.0 + (STALL + p.ln() / STALL_RATE).max(0.0),
        };
        -(1.0 - p).ln() / decay
    }
}

/// Length of a stall, and stalls per unit of time.
const STALL: f64 = 50.0;
const STALL_RATE: f64 = 60.0 / 100_000.0;

/// A stream of random numbers (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        let mut chance = Chance(seed);
        Chance(chance.bits() ^ seed.rotate_left(32))
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniform number above 0 and at most 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an exponential number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

/// State of the server.
struct Server {
    law: Law,
    free_at: f64,
    stalled_at: f64,
    stalls_at: f64,
}

impl Server {
    /// Returns the time of the response to a request that arrives at `at`.
    fn serve(&mut self, at: f64, chance: &mut Chance) -> f64 {
        if self.law == Law::Stalls {
            while self.stalls_at <= at {
                self.stalled_at = self.stalls_at;
                self.stalls_at += chance.exponential() / STALL_RATE;
            }
            return f64::max(at, self.stalled_at + STALL) + 1.0;
        }
        let service = chance.exponential();
        if self.law == Law::Independent {
            return at + service;
        }
        self.free_at = f64::max(at, self.free_at) + service;
        self.free_at
    }
}

/// Mantissa bits dropped: buckets of a histogram are 2⁻¹⁰ of an octave wide, 0.1%, as in the
/// document.
const PRECISION: u32 = 52 - 10;
/// First bucket: it begins at 2⁻²⁰ and includes smaller values; the last ends at 2¹².
const FIRST: u64 = (1023 - 20) << 10;
const BUCKETS: usize = 32 << 10;

/// One run, in slices.
pub(crate) struct Run {
    /// Response times, by slice of the arrival.
    slices: Vec<Vec<f32>>,
    buckets: Vec<u32>,
    /// Completions inside each slice of the window, whenever their requests arrived.
    pub(crate) completions: Vec<f64>,
    count: u64,
}

impl Run {
    /// Simulates a window of `planned` requests, from a queue in its stationary state.
    pub(crate) fn simulate(law: Law, planned: u32, seed: u64) -> Run {
        let mut chance = Chance::new(seed);
        let window = f64::from(planned) / law.rate();
        let mut run = Run {
            slices: vec![Vec::new(); SLICES],
            buckets: vec![0; BUCKETS],
            completions: vec![0.0; SLICES],
            count: 0,
        };
        let slice_of = |at: f64| {
            let slice = at / window * SLICES as f64;
            (0.0..SLICES as f64).contains(&slice).then_some(slice as usize)
        };
        // The queue starts empty and gets 10,000 requests to settle.
        let start = -10_000.0 / law.rate();
        let mut server =
            Server { law, free_at: start, stalled_at: start - STALL, stalls_at: start };
        let mut at = start;
        let mut index = 0_u32;
        while at < window {
            let end = server.serve(at, &mut chance);
            if let Some(slice) = slice_of(at) {
                run.record(slice, end - at);
            }
            if let Some(slice) = slice_of(end) {
                run.completions[slice] += 1.0;
            }
            index += 1;
            at = match law {
                Law::DM1(rate) => start + f64::from(index) / rate,
                _ => at + chance.exponential() / law.rate(),
            };
        }
        run
    }

    fn record(&mut self, slice: usize, time: f64) {
        let bucket = (time.to_bits() >> PRECISION).saturating_sub(FIRST);
        self.buckets[bucket as usize] += 1;
        self.slices[slice].push(time as f32);
        self.count += 1;
    }

    /// Returns the edges of the bucket that holds percentile `p` (METHOD 1.7).
    pub(crate) fn bucket_of(&self, p: f64) -> (f64, f64) {
        let rank = ((p * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut below = 0;
        for (bucket, count) in (FIRST..).zip(&self.buckets) {
            below += u64::from(*count);
            if below >= rank {
                let edge = |bucket: u64| f64::from_bits(bucket << PRECISION);
                return (edge(bucket), edge(bucket + 1));
            }
        }
        unreachable!("the rank is at most the count")
    }

    /// Returns the slices' counts for the run's own percentile `p`.
    pub(crate) fn tails(&self, p: f64) -> Vec<SliceTail> {
        let edge = self.bucket_of(p).1 as f32;
        let tail = |times: &Vec<f32>| SliceTail {
            count: times.len() as u64,
            beyond: u64::from(times.iter().map(|time| u32::from(*time > edge)).sum::<u32>()),
        };
        self.slices.iter().map(tail).collect()
    }

    /// Returns the series of METHOD 1.10: throughput, mean, and the shares above p50, p90 and p99.
    pub(crate) fn series(&self) -> [Vec<f64>; 5] {
        let mean = |times: &Vec<f32>| {
            times.iter().map(|time| f64::from(*time)).sum::<f64>() / times.len().max(1) as f64
        };
        let shares = |p| {
            let share = |tail: SliceTail| tail.beyond as f64 / tail.count.max(1) as f64;
            self.tails(p).into_iter().map(share).collect()
        };
        [
            self.completions.clone(),
            self.slices.iter().map(mean).collect(),
            shares(0.5),
            shares(0.9),
            shares(0.99),
        ]
    }
}

/// Coverage of the true value by intervals, over several runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    /// Intervals computed.
    pub(crate) given: u32,
    /// Intervals with the true value below their lower end; subset of `given`.
    pub(crate) truth_below: u32,
    /// Intervals with the true value above their upper end; subset of `given`.
    pub(crate) truth_above: u32,
}

impl Coverage {
    fn add(&mut self, (is_below, is_above): (bool, bool)) {
        self.given += 1;
        self.truth_below += u32::from(is_below);
        self.truth_above += u32::from(is_above);
    }

    /// Returns the share of intervals that contain the true value.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.given - self.truth_below - self.truth_above) / f64::from(self.given)
    }
}

/// Results for one percentile of one law.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Study {
    /// Coverage of the intervals that are printed without a mark.
    pub(crate) supported: Coverage,
    /// Coverage of the same intervals without guard and skewness: p ± t·√(DEFF·p(1 − p)/n).
    pub(crate) plain: Coverage,
    /// Coverage of the intervals that are printed with a mark.
    pub(crate) weak: Coverage,
    /// Sum of the design effects.
    pub(crate) deff_sum: f64,
}

/// Computes the intervals of some percentiles and of the throughput over `runs` runs.
pub(crate) fn study<const N: usize>(
    law: Law,
    planned: u32,
    runs: u32,
    percentiles: [f64; N],
) -> ([Study; N], Coverage) {
    let mut studies = [Study::default(); N];
    let mut throughput = Coverage::default();
    let t = t_quantile(0.975, (SLICES - 1) as f64);
    for seed in 0..runs {
        let run = Run::simulate(law, planned, u64::from(seed));
        for (study, p) in studies.iter_mut().zip(percentiles) {
            let guard = guard_of(p).map(|p| run.tails(p));
            let tails = run.tails(p);
            let truth = law.quantile(p);
            let interval = percentile_interval(p, &tails, guard.as_deref()).expect("thirty slices");
            study.deff_sum += interval.deff;
            let is_below = |low_p| truth < run.bucket_of(low_p).0;
            let is_above = |high_p: Option<f64>| high_p.is_some_and(|p| truth > run.bucket_of(p).1);
            let misses = (is_below(interval.low_p), is_above(interval.high_p));
            match interval.standing {
                Standing::Supported => study.supported.add(misses),
                Standing::Weak => study.weak.add(misses),
                Standing::Unsupported => {}
            }
            let plain = percentile_interval(p, &tails, None).expect("thirty slices");
            if plain.standing == Standing::Supported {
                let half = t * (p * (1.0 - p) / plain.effective).sqrt();
                study.plain.add((is_below(p - half), is_above(Some(p + half))));
            }
        }
        let interval = mean_interval(&run.completions, 0.95).expect("thirty slices");
        let error = f64::from(planned) / SLICES as f64 - interval.mean;
        throughput.add((error < -interval.half_width, error > interval.half_width));
    }
    (studies, throughput)
}

/// Stationary runs in which a rule of METHOD 1.10 or 1.12 fires for one or more of the five series.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alarms {
    /// Runs in which S1, S2 or S3 fires.
    pub(crate) changed: u32,
    /// Runs in which S4 fires.
    pub(crate) correlated: u32,
    /// Runs with a warm-up reported as too short.
    pub(crate) left_over: u32,
    /// Runs in which MSER would delete more than a twentieth; no rule by itself.
    pub(crate) deleted: u32,
}

pub(crate) fn alarms(law: Law, planned: u32, runs: u32) -> Alarms {
    let mut alarms = Alarms::default();
    for seed in 0..runs {
        let all = Run::simulate(law, planned, u64::from(seed)).series();
        let judged = all.each_ref().map(|one| Stationarity::of(one).expect("thirty slices"));
        let transients = all.each_ref().map(|one| Transient::of(one).expect("thirty slices"));
        let changed = |of: &Stationarity| of.has_trend() || of.has_drift() || of.has_shift();
        alarms.changed += u32::from(judged.iter().any(changed));
        alarms.correlated += u32::from(judged.iter().any(Stationarity::is_correlated));
        alarms.left_over += u32::from(transients.iter().any(Transient::is_left_over));
        alarms.deleted += u32::from(transients.iter().any(|of| of.share > 0.05));
    }
    alarms
}
