//! Options of the engine: threads, CPUs, I/O, send and receive strategy, time stamps.

use serde::{Deserialize, Serialize};
use weir_io::EngineChoice;
use weir_result::{Pacing, StampChoice, Wait};

/// Options of the engine. What is absent depends on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSpec {
    /// Worker threads; absent: one per usable CPU, or half as many beside a server on this machine
    /// (METHOD 1.8). At most one per connection runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// CPUs to pin threads to; absent: not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// I/O engine.
    #[serde(with = "io_by_name")]
    pub io: EngineChoice,
    /// Send strategy; absent: hybrid, or sleep with more threads than CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Receive strategy.
    pub wait: Wait,
    /// Interval, in nanoseconds, at which due requests are sent together; absent: each when due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<u64>,
    /// Connections with kernel time stamps.
    pub stamps: StampChoice,
}

impl Default for EngineSpec {
    fn default() -> EngineSpec {
        EngineSpec {
            threads: None,
            pin: None,
            io: EngineChoice::Auto,
            pacing: None,
            wait: Wait::Auto,
            tick_ns: None,
            stamps: StampChoice::Sample,
        }
    }
}

/// The choice of an I/O engine as its name.
mod io_by_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use weir_io::EngineChoice;

    pub(super) fn serialize<S: Serializer>(
        choice: &EngineChoice,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(choice.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<EngineChoice, D::Error> {
        let name = String::deserialize(deserializer)?;
        let is_known = EngineChoice::names().any(|known| known == name);
        name.parse().ok().filter(|_| is_known).ok_or_else(|| {
            let names: Vec<String> = EngineChoice::names().map(|n| format!("`{n}`")).collect();
            let names = names.join(", ");
            D::Error::custom(format!("unknown variant `{name}`, expected one of {names}"))
        })
    }
}

/// CPUs to which threads are pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// All usable ones.
    All,
    /// These, in ascending order.
    Cpus(Vec<u32>),
}

impl Pin {
    /// Formats CPUs, in ascending order, as a list: `0-3,6`.
    pub(crate) fn list(cpus: &[u32]) -> String {
        let spans = cpus.chunk_by(|one, next| one + 1 == *next).map(|span| match span {
            [only] => only.to_string(),
            _ => format!("{}-{}", span[0], span[span.len() - 1]),
        });
        spans.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_are_read() {
        let check = |cpus: &[u32], text| assert_eq!(Pin::list(cpus), text);
        check(&[0], "0");
        check(&[0, 1, 2, 5, 7, 8], "0-2,5,7-8");
        check(&[], "");
    }
}
