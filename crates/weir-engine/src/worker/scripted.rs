//! The worker and the source of its requests: events reported to a script, its stop, and the end
//! of a list whose length was unknown.

use weir_http::Interest;
use weir_io::{Backend, ConnId, Nanos};

use super::Worker;
use crate::connections::ScriptEvent;
use crate::lane::Lane;

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// Processes the work left by the last event: sends the layers' output, reports events to the
    /// script, and drops bodies that were kept. Returns the time at which the script's callbacks,
    /// or the checks of bodies, were done; zero if there were none.
    pub(super) fn flush_pending(&mut self, conn: ConnId) -> Nanos {
        self.pool.layers.send_output(conn, &mut self.backend);
        let has_judged = self.pool.ledger.take_has_read();
        if self.pool.script_events().is_empty() {
            if !has_judged {
                return Nanos::ZERO;
            }
            self.handler.lane.forget_responses(&self.pool, conn);
            return self.backend.now();
        }
        let mut events = std::mem::take(self.pool.script_events());
        for event in events.drain(..) {
            self.report(event);
        }
        if self.pool.needs.keep_bodies() {
            self.handler.lane.forget_responses(&self.pool, conn);
        }
        *self.pool.script_events() = events;
        self.source.script.as_ref().map_or(Nanos::ZERO, |script| script.left_at)
    }

    /// Reports an event to the script.
    fn report(&mut self, event: ScriptEvent) {
        let Some(script) = &mut self.source.script else { return };
        match event {
            ScriptEvent::Opened(conn) => script.opened(conn, &mut self.backend),
            ScriptEvent::Responded { conn, nth, status } => {
                let lane = &self.handler.lane;
                let pool = &self.pool;
                let is_shown = pool.needs.shows != Some(Interest::Status);
                let response = is_shown.then(|| lane.response(pool, conn, nth));
                script.response(conn, status, response, &mut self.backend);
            }
            // Before the load begins there are no delays: see `begin`.
            ScriptEvent::Freed(conn) if self.stage.is_sending => self.begin_delay(conn),
            ScriptEvent::Freed(_) => {}
        }
    }

    /// Delays `conn`, if it is free, by the script's `delay()`. The delay counts from the return of
    /// the call, but not from before S.
    pub(super) fn begin_delay(&mut self, conn: ConnId) {
        let from = self.pool.timeline.start;
        let opened = self.pool.connections.at(conn).opened;
        let Some(script) = &mut self.source.script else { return };
        if !self.pool.connections.is_idle(conn, opened) {
            return;
        }
        match script.delay(conn, &mut self.backend) {
            0 => self.pool.connections.free_again(conn),
            delay_ns => {
                let until = from.max(script.left_at).after(delay_ns);
                self.pool.connections.rest(conn, until);
            }
        }
    }

    /// Ends the window at `at` if the script has failed or stopped its worker. If `request()`
    /// stopped it, the batches already made are sent first. A stream of requests ends the run with
    /// its last row, as if the plan had had this number of requests.
    #[inline(never)]
    pub(super) fn check_source(&mut self, at: Nanos) {
        if !self.stage.is_sending || self.stage.is_cut {
            return;
        }
        if self.source.has_ended() {
            return self.cut_window(at);
        }
        let Some(rows) = self.source.take_list_end() else { return };
        self.slots.lower_quota(self.job.request_count().unwrap_or(rows), rows);
        self.pool.timeline.limit(&self.job.plan, rows);
    }
}
