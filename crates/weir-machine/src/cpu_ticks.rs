//! Ticks of the CPUs by use, from /proc/stat (proc_stat(5)).

/// Ticks of some CPUs (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// All ticks.
    pub total: u64,
    /// Of `total`: ticks without a runnable program, waits for disks included.
    pub idle: u64,
    /// Of `total`: ticks in which the hypervisor ran something else.
    pub stolen: u64,
}

impl CpuTicks {
    /// Sums the lines of `cpus` in /proc/stat.
    pub fn parse(stat: &str, cpus: &[u32]) -> Option<CpuTicks> {
        let mut sum = CpuTicks::default();
        for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
            let (name, ticks) = line.split_once(' ')?;
            let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
            if number.is_some_and(|number| cpus.contains(&number)) {
                let ticks = CpuTicks::of_line(ticks)?;
                sum.total += ticks.total;
                sum.idle += ticks.idle;
                sum.stolen += ticks.stolen;
            }
        }
        (sum.total > 0).then_some(sum)
    }

    /// Parses the first line of /proc/stat, the sum over all CPUs.
    pub fn parse_all(stat: &str) -> Option<CpuTicks> {
        CpuTicks::of_line(stat.lines().next()?.strip_prefix("cpu ")?)
    }

    /// Parses user, nice, system, idle, iowait, irq, softirq and steal. Guests' time, which
    /// follows, is in user and nice already.
    fn of_line(ticks: &str) -> Option<CpuTicks> {
        let words = ticks.split_whitespace();
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        let [_user, _nice, _system, idle, iowait, _irq, _softirq, stolen] = ticks[..] else {
            return None;
        };
        Some(CpuTicks { total: ticks.iter().sum(), idle: idle + iowait, stolen })
    }

    /// Returns the ticks since an earlier reading.
    pub fn since(self, earlier: CpuTicks) -> CpuTicks {
        CpuTicks {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// Returns the share of `total` in which the hypervisor ran something else; `None` without a
    /// tick.
    pub fn stolen_share(self) -> Option<f64> {
        (self.total > 0).then(|| (self.stolen as f64 / self.total as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  2312559 35034 604380 1464937 6930 0 232195 11652 0 0\n\
        cpu0 1169372 19734 287796 732237 3717 0 118719 5642 0 0\n\
        cpu1 1143186 15300 316583 732700 3213 0 113475 6009 0 0\n\
        intr 82609045 0 0\nctxt 1\n";

    #[test]
    fn ticks_are_of_the_given_cpus() {
        let check = |stat, cpus: &[u32], expected: Option<(u64, u64)>| {
            let ticks = CpuTicks::parse(stat, cpus).map(|ticks| (ticks.total, ticks.stolen));
            assert_eq!(ticks, expected, "{cpus:?}");
        };
        check(STAT, &[0], Some((2_337_217, 5642)));
        check(STAT, &[1, 0], Some((2_337_217 + 2_330_466, 11_651)));
        check(STAT, &[7], None);
        check("cpu0 1 2 3 4\n", &[0], None);
        check("", &[0], None);
        assert_eq!(CpuTicks::parse(STAT, &[0]).map(|ticks| ticks.idle), Some(735_954));
    }

    #[test]
    fn ticks_of_all_cpus_are_those_of_the_first_line() {
        let stat = "cpu  10 0 20 60 5 0 1 4 2 1\ncpu0 1 2\n";
        let all = CpuTicks { total: 100, idle: 65, stolen: 4 };
        assert_eq!(CpuTicks::parse_all(stat), Some(all));
        assert_eq!(CpuTicks::parse_all("intr 5"), None);
        assert_eq!((all.stolen_share(), all.since(all).stolen_share()), (Some(0.04), None));
    }
}
