//! Pressure stall information: time in which tasks waited for a resource, from /proc/pressure (the
//! kernel's Documentation/accounting/psi.rst).

/// Time in which at least one task waited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PressureStall {
    /// Share of the last ten seconds, from 0 to 1.
    pub recent_share: f64,
    /// Total since boot, in microseconds.
    pub total_us: u64,
}

impl PressureStall {
    /// Parses the line `some` of a pressure file.
    pub fn parse(text: &str) -> Option<PressureStall> {
        let some = text.lines().find(|line| line.starts_with("some "))?;
        let field = |name: &str| some.split_whitespace().find_map(|word| word.strip_prefix(name));
        let percent: f64 = field("avg10=")?.parse().ok()?;
        Some(PressureStall {
            recent_share: percent / 100.0,
            total_us: field("total=")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_that_of_some() {
        let text = "some avg10=3.00 avg60=2.73 avg300=1.19 total=8972379215\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let expected = PressureStall { recent_share: 0.03, total_us: 8_972_379_215 };
        assert_eq!(PressureStall::parse(text), Some(expected));
        assert_eq!(PressureStall::parse("full avg10=0.00 total=7"), None);
        assert_eq!(PressureStall::parse("some avg10=x total=7"), None);
        assert_eq!(PressureStall::parse(""), None);
    }
}
