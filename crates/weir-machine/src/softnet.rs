//! Input of packets by CPU, from /proc/net/softnet_stat.

/// Counters since boot, summed over the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Packets dropped because a CPU's input queue was full.
    pub dropped: u64,
    /// Number of times that packet processing ran out of time.
    pub squeezed: u64,
}

impl Softnet {
    /// Parses the file; its first column, which counts processed packets, is not used.
    pub fn parse(stat: &str) -> Option<Softnet> {
        let mut sum = Softnet::default();
        for line in stat.lines() {
            let mut words = line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
            sum.dropped += words.nth(1)?.ok()?;
            sum.squeezed += words.next()?.ok()?;
        }
        (!stat.is_empty()).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_sums_over_cpus() {
        let text = "1f7b4acc 0000d70b 00000025 00000000 00000000\n\
                    1eb721ba 00000002 00000022 00000000 00000000\n";
        assert_eq!(Softnet::parse(text), Some(Softnet { dropped: 0xd70d, squeezed: 0x47 }));
        assert_eq!(Softnet::parse(""), None);
        assert_eq!(Softnet::parse("1f7b4acc\n"), None);
    }
}
