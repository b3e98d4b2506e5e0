//! Counters of a run, each declared once: in [`Measurements`](crate::Measurements), as a worker
//! counts them, and in a section of the document, as they are stored.
//!
//! A declaration is the counter's name, a sentence, and the rule that merges two workers' values.
//! From it come both fields, the merge, the conversions, and the description in the schema. Nothing
//! here is derived, and nothing counts: sections are derived in `document`.

/// Declares a structure whose fields merge one by one, each by its rule: a function of
/// [`rules`] that takes the other's value into one's own.
macro_rules! merged {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $($(#[$about:meta])* pub $field:ident: $type:ty => $rule:path,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl $crate::counters::rules::Merge for $Name {
            fn merge(&mut self, other: &$Name) {
                $($rule(&mut self.$field, &other.$field);)*
            }
        }
    };
}

/// Declares two structures at once: the one in which a worker counts, and the section that stores
/// it. Each line is a field with its sentence:
///
/// - `counter NAME: TYPE => RULE;` is in both. Attributes for serde follow the rule, after a comma.
/// - `measured NAME: TYPE => RULE;` is only in the first.
/// - `stored NAME: TYPE;` is only in the section.
///
/// Fields keep their order. Conversions copy the counters and leave other fields empty.
macro_rules! counters {
    (
        $(#[$measured:meta])* measured $Measured:ident;
        $(#[$stored:meta])* stored $Stored:ident;
        $($lines:tt)*
    ) => {
        counters! {
            @line [$(#[$measured])* $Measured] [$(#[$stored])* $Stored] {} {} [] $($lines)*
        }
    };
    (
        @line $of_measured:tt $of_stored:tt {$($measured:tt)*} {$($stored:tt)*} [$($both:ident)*]
        $(#[$about:meta])* counter $field:ident: $type:ty => $rule:path $(, $(#[$how:meta])+)?;
        $($lines:tt)*
    ) => {
        counters! {
            @line $of_measured $of_stored
            {$($measured)* $(#[$about])* pub $field: $type => $rule,}
            {$($stored)* $(#[$about])* $($(#[$how])+)? pub $field: $type,}
            [$($both)* $field]
            $($lines)*
        }
    };
    (
        @line $of_measured:tt $of_stored:tt {$($measured:tt)*} $stored:tt $both:tt
        $(#[$about:meta])* measured $field:ident: $type:ty => $rule:path;
        $($lines:tt)*
    ) => {
        counters! {
            @line $of_measured $of_stored
            {$($measured)* $(#[$about])* pub $field: $type => $rule,} $stored $both
            $($lines)*
        }
    };
    (
        @line $of_measured:tt $of_stored:tt $measured:tt {$($stored:tt)*} $both:tt
        $(#[$about:meta])* stored $field:ident: $type:ty;
        $($lines:tt)*
    ) => {
        counters! {
            @line $of_measured $of_stored $measured
            {$($stored)* $(#[$about])* pub $field: $type,} $both
            $($lines)*
        }
    };
    (
        @line [$(#[$of_measured:meta])* $Measured:ident] [$(#[$of_stored:meta])* $Stored:ident]
        {$($measured:tt)*} {$($stored:tt)*} [$($both:ident)*]
    ) => {
        merged! {
            $(#[$of_measured])*
            pub struct $Measured { $($measured)* }
        }

        $(#[$of_stored])*
        pub struct $Stored { $($stored)* }

        impl From<&$Measured> for $Stored {
            fn from(measured: &$Measured) -> $Stored {
                let mut stored = <$Stored>::default();
                $(Clone::clone_from(&mut stored.$both, &measured.$both);)*
                stored
            }
        }

        impl From<&$Stored> for $Measured {
            fn from(stored: &$Stored) -> $Measured {
                let mut measured = <$Measured>::default();
                $(Clone::clone_from(&mut measured.$both, &stored.$both);)*
                measured
            }
        }
    };
}

mod accounting;
mod by_outcome;
mod connections;
mod network;
mod phases;
pub(crate) mod rules;
mod script;
mod throughput;
mod timeline;
mod tls;

pub(crate) use accounting::is_zero;
pub use accounting::{Accounting, Outcomes, Sent, SentCounts};
pub use by_outcome::ByOutcome;
pub use connections::{Connections, ConnectionsSection, DestinationCounts, DestinationSection};
pub use network::{NetworkSection, TcpUsage};
pub use phases::{Phases, WorkerPhases};
pub use script::{Callback, CallbackUsage, ScriptSection, ScriptUsage};
pub use throughput::{RateInterval, Throughput, Window};
pub(crate) use timeline::merge_intervals;
pub use timeline::{Interval, SeriesEntry, SeriesPhase, Slice, SliceEntry};
pub use tls::{Certificate, HandshakeKind, TlsCounts, TlsParameters, TlsSection};
