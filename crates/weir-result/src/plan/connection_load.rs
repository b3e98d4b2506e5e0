//! The number of connections of a load.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::connection_stage::{ConnectionStage, most_connections};
use super::stage::total_ns;

/// Number of connections over all threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ConnectionLoad {
    /// A number that does not change, at least 1.
    Fixed(u32),
    /// Of an open loop, which opens a further connection if none has room for a request that is
    /// due.
    Growing {
        /// Number at the start, at least 1.
        first: u32,
        /// Greatest number, above `first`.
        most: u32,
    },
    /// Stages of a closed loop, which begin with the window. The warm-up has the first number.
    Stages(Vec<ConnectionStage>),
}

impl ConnectionLoad {
    /// Returns the number that reports name: one that grows is that at the start, of stages the
    /// greatest.
    pub fn count(&self) -> u32 {
        match self {
            ConnectionLoad::Fixed(count) | ConnectionLoad::Growing { first: count, .. } => *count,
            ConnectionLoad::Stages(stages) => most_connections(stages),
        }
    }

    /// Returns the number at the start.
    pub fn first(&self) -> u32 {
        self.stages().first().map_or(self.count(), |stage| stage.from)
    }

    /// Returns the greatest number.
    pub fn most(&self) -> u32 {
        self.grows_to().unwrap_or(self.count())
    }

    /// Returns the greatest number of one that grows.
    pub fn grows_to(&self) -> Option<u32> {
        match self {
            ConnectionLoad::Growing { most, .. } => Some(*most),
            _ => None,
        }
    }

    /// Returns the stages; none if the number does not follow a plan.
    pub fn stages(&self) -> &[ConnectionStage] {
        match self {
            ConnectionLoad::Stages(stages) => stages,
            _ => &[],
        }
    }

    /// Returns the length of all stages, in nanoseconds.
    pub fn length_ns(&self) -> Option<u64> {
        match self.stages() {
            [] => None,
            stages => Some(total_ns(stages.iter().map(|stage| stage.duration_ns))),
        }
    }
}

impl From<u32> for ConnectionLoad {
    fn from(count: u32) -> ConnectionLoad {
        ConnectionLoad::Fixed(count)
    }
}

/// Not derived: reading an untagged enum hides the path of a wrong field, and one that is unknown.
impl<'de> Deserialize<'de> for ConnectionLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ConnectionLoad, D::Error> {
        deserializer.deserialize_any(AnyForm)
    }
}

/// Reads any of the forms.
struct AnyForm;

impl<'de> Visitor<'de> for AnyForm {
    type Value = ConnectionLoad;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of connections, a range of them or stages")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<ConnectionLoad, E> {
        let count_32 = u32::try_from(count).map(ConnectionLoad::Fixed);
        count_32.map_err(|_| E::invalid_value(Unexpected::Unsigned(count), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, stages: A) -> Result<ConnectionLoad, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(stages)).map(ConnectionLoad::Stages)
    }

    fn visit_map<A: MapAccess<'de>>(self, range: A) -> Result<ConnectionLoad, A::Error> {
        #[derive(Deserialize)]
        struct Ends {
            first: u32,
            most: u32,
        }
        let Ends { first, most } = Ends::deserialize(MapAccessDeserializer::new(range))?;
        Ok(ConnectionLoad::Growing { first, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse_connection_stages;

    #[test]
    fn a_number_a_range_and_stages_read_as_they_were_written() {
        let stages = parse_connection_stages("1s@c=2..9,2s@c=3").expect("stages");
        let growing = ConnectionLoad::Growing { first: 2, most: 9 };
        for (load, json, numbers, length_ns) in [
            (ConnectionLoad::Fixed(7), "7", [7, 7, 7], None),
            (growing, r#"{"first":2,"most":9}"#, [2, 2, 9], None),
            (
                ConnectionLoad::Stages(stages),
                r#"[{"duration_ns":1000000000,"from":2,"to":9},"#,
                [2, 9, 9],
                Some(3_000_000_000),
            ),
        ] {
            let written = serde_json::to_string(&load).expect("JSON");
            assert!(written.starts_with(json), "{written}");
            assert_eq!(serde_json::from_str::<ConnectionLoad>(&written).expect(json), load);
            assert_eq!([load.first(), load.count(), load.most()], numbers, "{json}");
            assert_eq!(load.length_ns(), length_ns);
        }
    }
}
