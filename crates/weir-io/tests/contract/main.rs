//! Contract of every backend that uses the operating system, checked on loopback against servers of
//! the standard library. A backend is added by one line at the end of this file.

mod accepting;
mod crowded;
mod driver;
mod ending;
mod life;
mod opening;
mod stamping;
mod transfer;
mod waiting;

/// Runs every check on one backend.
macro_rules! contract {
    ($name:ident, $backend:ty; $($module:ident :: { $($check:ident),* $(,)? })*) => {
        mod $name {
            $($(
                #[test]
                fn $check() {
                    crate::$module::$check::<$backend>();
                }
            )*)*
        }
    };
}

/// Runs the whole contract on a backend.
macro_rules! whole_contract {
    ($name:ident, $backend:ty) => {
        contract! { $name, $backend;
            opening::{
                connects_to_every_kind_of_endpoint,
                connects_from_the_source_it_was_given,
                reports_why_a_connect_failed,
                counts_generations,
                lends_nothing_of_an_older_socket,
                lends_nothing_of_an_abandoned_connect,
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
                lends_what_nobody_permitted_to_discard,
                bytes_may_be_changed_in_place,
                serves_all_when_one_floods,
            }
            ending::{
                end_of_file_comes_once,
                sends_after_the_peer_has_ended,
                lends_what_came_before_a_reset,
                lends_what_came_before_a_failed_send,
                tells_what_a_failed_send_left_unsent,
                counts_its_own_tcp_sockets,
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
                tells_what_the_thread_has_taken,
            }
            stamping::{
                stamps_lie_where_they_belong,
                a_late_read_keeps_the_time_of_arrival,
                transmissions_come_in_order_before_the_answer,
                stamps_a_sample_of_sends,
                stamps_nothing_unasked,
                serves_many_stamped_connections,
                a_stamped_connection_fails_once,
                a_stamped_connection_may_send_much,
                stamps_every_life_of_a_connection,
                a_large_stamped_answer_is_whole,
                closing_forgets_what_was_stamped,
            }
            accepting::{
                serves_itself,
                gives_the_lowest_free_number,
                accepts_no_more_than_it_may,
                accepts_at_several_doors,
            }
            life::{
                keeps_each_life_apart,
            }
        }
    };
}

whole_contract!(epoll, weir_io::Epoll);
whole_contract!(uring, weir_io::Uring);
whole_contract!(uring_that_polls, crate::crowded::Polled);
