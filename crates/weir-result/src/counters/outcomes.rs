//! Outcomes of all planned requests. Six classes add up to the planned count: the conservation law,
//! which is checked before a document exists.

use serde::{Deserialize, Serialize};

use crate::absent::is_default;
use crate::rules::{self, Merge};

/// Declares the classes and their parts, from which come the counts, their names and their merge. A
/// part is a number of requests of one class that the words tell apart.
macro_rules! outcomes {
    (
        classes { $($(#[$about:meta])+ $Class:ident $class:ident;)+ }
        parts { $($(#[$of_class:meta])+ $Part:ident $part:ident of $Whole:ident: $words:literal;)+ }
    ) => {
        merged! {
            /// Counts of the six classes (METHOD 1.6), over the measured requests of a scope.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct Outcomes {
                $($(#[$about])+ pub $class: u64 => rules::sum,)+
                $($(#[$of_class])+
                #[serde(default, skip_serializing_if = "is_default")]
                pub $part: u64 => rules::sum,)+
            }
        }

        /// Class of a planned request (METHOD 1.6).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum OutcomeClass {
            $($(#[$about])+ $Class,)+
        }

        /// Part of a class.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum OutcomePart {
            $($(#[$of_class])+ $Part,)+
        }

        impl OutcomeClass {
            /// All classes, in the order of METHOD 1.6.
            pub const ALL: [OutcomeClass; 6] = [$(OutcomeClass::$Class),+];

            /// Returns the name used in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(OutcomeClass::$Class => stringify!($class),)+
                }
            }
        }

        impl OutcomePart {
            /// All parts.
            pub const ALL: &[OutcomePart] = &[$(OutcomePart::$Part),+];

            /// Returns the name used in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(OutcomePart::$Part => stringify!($part),)+
                }
            }

            /// Returns the class that it is a part of.
            pub fn whole(self) -> OutcomeClass {
                match self {
                    $(OutcomePart::$Part => OutcomeClass::$Whole,)+
                }
            }

            /// Returns what tells its requests apart: words that follow a number of them.
            pub fn words(self) -> &'static str {
                match self {
                    $(OutcomePart::$Part => $words,)+
                }
            }
        }

        impl Outcomes {
            /// Returns the number of requests of a class.
            pub fn of(&self, class: OutcomeClass) -> u64 {
                match class {
                    $(OutcomeClass::$Class => self.$class,)+
                }
            }

            /// Adds requests to a class.
            pub fn count(&mut self, class: OutcomeClass, requests: u64) {
                match class {
                    $(OutcomeClass::$Class => self.$class += requests,)+
                }
            }

            /// Returns the number of requests of a part.
            pub fn part(&self, part: OutcomePart) -> u64 {
                match part {
                    $(OutcomePart::$Part => self.$part,)+
                }
            }

            /// Adds requests to a part and to its class.
            pub fn count_part(&mut self, part: OutcomePart, requests: u64) {
                match part {
                    $(OutcomePart::$Part => self.$part += requests,)+
                }
                self.count(part.whole(), requests);
            }
        }
    };
}

outcomes! {
    classes {
        /// Complete responses that count as success (`plan.success` or `plan.expect`; by default a
        /// status below 400).
        Ok ok;
        /// Complete responses that do not count as success.
        BadResponse bad_response;
        /// Requests that ended without a complete response: reset, closed, malformed.
        TransportError transport_error;
        /// Requests without a complete response within the timeout.
        TimedOut timed_out;
        /// Requests sent, and still without a response when the run ended.
        InFlightAtEnd in_flight_at_end;
        /// Requests due, and never sent.
        NeverSent never_sent;
    }
    parts {
        /// Of `never_sent`: requests that were due while as many were in flight as allowed
        /// (`plan.load.in_flight_max`); absent if there are none.
        Shed shed of NeverSent: "due while as many requests were in flight as allowed";
    }
}

impl Outcomes {
    /// Counts a request that was never sent, in the part of its class that it belongs to, if any.
    pub fn count_never_sent(&mut self, part: Option<OutcomePart>) {
        match part {
            Some(part) => self.count_part(part, 1),
            None => self.count(OutcomeClass::NeverSent, 1),
        }
    }

    /// Returns the classes with their names, in the order of METHOD 1.6.
    pub fn classes(&self) -> [(&'static str, u64); 6] {
        OutcomeClass::ALL.map(|class| (class.name(), self.of(class)))
    }

    /// Returns the parts with their names.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let outcomes = *self;
        OutcomePart::ALL.iter().map(move |part| (part.name(), outcomes.part(*part)))
    }

    /// Returns the sum of the six classes, which must equal the planned count. It saturates: a
    /// document may hold any counts.
    pub fn total(&self) -> u64 {
        self.classes().into_iter().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Returns the number of requests that were put on the wire.
    pub fn sent(&self) -> u64 {
        Outcomes { never_sent: 0, ..*self }.total()
    }

    /// Returns the number of requests that were not sent because the plan says so: they tell
    /// nothing about the server or the client.
    pub fn unsent_by_plan(&self) -> u64 {
        self.shed
    }

    /// Adds the counts of other requests.
    pub fn add(&mut self, other: &Outcomes) {
        self.merge(other);
    }
}
