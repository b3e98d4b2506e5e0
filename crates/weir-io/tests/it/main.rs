//! Contract of every backend that uses the operating system, checked on loopback against servers of
//! the standard library. `descriptors` alone is about the process.
//!
//! A backend is registered by one line at the end of this file, with the capabilities that it has
//! and lacks. Checks of a capability that it lacks do not run. Instead, a test named for the
//! capability lists them and checks that its absence does no harm.

mod accepting;
mod crowded;
mod descriptors;
mod driver;
mod ending;
mod lacking;
mod life;
mod opening;
mod stamping;
mod toy;
mod transfer;
mod waiting;

/// Passes the checks of a part of the contract, either essential or of one capability, to a macro.
macro_rules! checks {
    (essential, $then:ident $with:tt) => {
        $then! { $with
            opening::{
                connects_to_every_kind_of_endpoint,
                reports_why_a_connect_failed,
                counts_generations,
                delivers_nothing_of_an_older_socket,
                delivers_nothing_of_an_abandoned_connect,
                sends_what_was_queued_while_connecting,
                takes_a_greeting,
                waits_for_room_in_a_unix_backlog,
                holds_many_connections,
            }
            transfer::{
                bytes_arrive_whole_at_every_split,
                receives_much,
                sends_much_to_a_slow_reader,
                keeps_order_between_sends_of_all_kinds,
                sends_prefixes_of_templates,
                uses_pooled_buffers_again,
                discards_exactly_what_is_permitted,
                delivers_what_may_not_be_discarded,
                bytes_may_be_changed_in_place,
                serves_all_when_one_floods,
            }
            ending::{
                end_of_file_comes_once,
                sends_after_the_peer_has_ended,
                delivers_what_came_before_a_reset,
                delivers_what_came_before_a_failed_send,
                fails_once,
                graceful_close_delivers_everything,
                reset_close_resets,
                renewed_after_its_end_is_as_new,
                closing_twice_is_harmless,
                dropping_ends_the_connections,
            }
            waiting::{
                never_returns_early,
                returns_after_a_wake,
                one_waker_wakes_many,
                looks_once_when_the_instant_has_passed,
                waits_for_the_instant_that_counts,
                gathers_within_bounds,
                stamps_never_flatter,
            }
            life::{
                keeps_each_life_apart,
            }
        }
    };
    (listen, $then:ident $with:tt) => {
        $then! { $with
            accepting::{
                serves_itself,
                gives_the_lowest_free_number,
                accepts_no_more_than_it_may,
                accepts_at_several_addresses,
            }
        }
    };
    (sources, $then:ident $with:tt) => {
        $then! { $with opening::{ connects_from_the_source_it_was_given } }
    };
    (stamps, $then:ident $with:tt) => {
        $then! { $with
            stamping::{
                stamps_lie_where_they_belong,
                a_late_read_keeps_the_time_of_arrival,
                transmissions_come_in_order_before_the_answer,
                stamps_a_sample_of_sends,
                stamps_nothing_unrequested,
                serves_many_stamped_connections,
                a_stamped_connection_fails_once,
                a_stamped_connection_may_send_much,
                stamps_every_life_of_a_connection,
                a_large_stamped_answer_is_whole,
                closing_forgets_what_was_stamped,
            }
        }
    };
    (tcp, $then:ident $with:tt) => {
        $then! { $with ending::{ counts_its_own_tcp_sockets } }
    };
    (unsent_bytes, $then:ident $with:tt) => {
        $then! { $with ending::{ reports_the_unsent_bytes_of_a_failed_send } }
    };
    (usage, $then:ident $with:tt) => {
        $then! { $with waiting::{ reports_the_usage_of_the_thread } }
    };
}

/// Makes a test of each check, which runs if the backend works on this machine.
macro_rules! run {
    (($backend:ty) $($module:ident::{ $($check:ident),* $(,)? })*) => {
        $($(
            #[test]
            fn $check() {
                if <$backend as crate::driver::Machine>::probe().is_ok() {
                    crate::$module::$check::<$backend>();
                }
            }
        )*)*
    };
}

/// Returns the names of the checks.
macro_rules! names {
    (() $($module:ident::{ $($check:ident),* $(,)? })*) => {
        &[$($(concat!(stringify!($module), "::", stringify!($check))),*),*]
    };
}

/// Registers a backend: makes a module of tests.
macro_rules! backend {
    ($name:ident: $backend:ty; has $($has:ident),*; lacks $($lacks:ident),*) => {
        mod $name {
            #[test]
            fn is_available() {
                crate::check_available::<$backend>(stringify!($name));
            }

            #[test]
            fn has_what_is_registered() {
                let registered = weir_io::Capabilities { $($has: true,)* $($lacks: false,)* };
                assert_eq!(<$backend as weir_io::Backend>::CAPABILITIES, registered);
            }

            checks!(essential, run($backend));
            $(checks!($has, run($backend));)*

            mod lacks {
                $(
                    #[test]
                    fn $lacks() {
                        let why = concat!("it lacks `", stringify!($lacks), "`");
                        crate::print_skipped(stringify!($name), why, checks!($lacks, names()));
                        crate::lacking::$lacks::<$backend>();
                    }
                )*
            }
        }
    };
}

/// Prints that a backend does not work on this machine, so that its checks do not run.
///
/// # Panics
/// If that is so and `WEIR_REQUIRE_URING` is 1.
fn check_available<B: driver::Machine>(backend: &str) {
    let Err(error) = B::probe() else { return };
    let required = std::env::var_os("WEIR_REQUIRE_URING");
    assert!(required.is_none_or(|value| value != "1"), "WEIR_REQUIRE_URING=1, but {error}");
    print_skipped(backend, &error.to_string(), &["every check"]);
}

/// Prints the checks that do not run, past the test harness, which hides what tests print.
fn print_skipped(backend: &str, why: &str, checks: &[&str]) {
    use std::io::Write;
    let checks = checks.join(", ");
    writeln!(std::io::stderr(), "{backend}: {why}, so left out: {checks}").expect("stderr");
}

backend!(epoll: weir_io::Epoll; has listen, sources, stamps, tcp, unsent_bytes, usage; lacks);
backend!(uring: weir_io::Uring; has listen, sources, stamps, tcp, unsent_bytes, usage; lacks);
backend!(uring_that_polls: crate::crowded::Polled;
    has listen, sources, stamps, tcp, unsent_bytes, usage; lacks);
backend!(minimal: crate::toy::Toy; has; lacks listen, sources, stamps, tcp, unsent_bytes, usage);
