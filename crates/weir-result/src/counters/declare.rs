//! Declarations of counters: each in one line, from which come the field that is counted, the field
//! that is stored, the merge and the conversions.

/// Declares a structure whose fields merge one by one, each by its rule: a function of
/// `rules` that takes the other's value into one's own.
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

        impl $crate::rules::Merge for $Name {
            fn merge(&mut self, other: &$Name) {
                $($rule(&mut self.$field, &other.$field);)*
            }
        }
    };
}

/// Declares two structures at once: the one in which a worker counts, and the section that stores
/// it. Each line is a field with its sentence:
///
/// - `counter NAME: TYPE => RULE;` is in both.
/// - `measured NAME: TYPE => RULE;` is only in the first.
/// - `stored NAME: TYPE;` is only in the section.
///
/// Attributes for serde follow, after a comma.
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
        $(#[$about:meta])* stored $field:ident: $type:ty $(, $(#[$how:meta])+)?;
        $($lines:tt)*
    ) => {
        counters! {
            @line $of_measured $of_stored $measured
            {$($stored)* $(#[$about])* $($(#[$how])+)? pub $field: $type,} $both
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
