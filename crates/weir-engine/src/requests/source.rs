//! The source of one worker's requests: the same request each time, those of a list in turn, or
//! batches. A script makes them shortly before they are due or ahead of them in idle time; another
//! thread reads them from a long list.

use weir_io::{Backend, ConnId, Nanos};

use super::batch::Batch;
use super::form::RequestForm;
use super::listed::Listed;
use super::request_queue::RequestQueue;
use super::row_feed::RowFeed;
use super::script::Script;
use super::slot_source::SlotSource;
use crate::connections::Connections;
use crate::job::{Job, ListRows};
use crate::time::Timeline;

/// Limits of making requests in one turn, in nanoseconds (the last call may overrun) and in batches
/// made ahead. Requests already made, and responses, wait meanwhile.
pub(crate) const MAKING_TURN_NS: u64 = 20_000;
const AHEAD_TURN: usize = 8;

/// Least lead of a script's call before its slot, in nanoseconds.
const LEAD_MIN_NS: u64 = 20_000;

/// The source of requests, which the worker's lane sends as `R`.
#[derive(Debug)]
pub(crate) struct RequestSource<'a, R> {
    /// The request that is sent each time; `None` if requests differ.
    same: Option<R>,
    varied: Varied<R>,
    pub(crate) script: Option<Script<'a>>,
    /// Rows of a list that is read during the load.
    feed: Option<RowFeed>,
    /// True if connections could take more requests than the script made in its share of the turn.
    pub(crate) is_behind: bool,
    /// Time at which the script last returned a request.
    pub(crate) made_at: Nanos,
}

/// Requests that differ.
#[derive(Debug)]
enum Varied<R> {
    /// There are none.
    Nothing,
    /// The requests of a list, each in its turn.
    Listed(Listed<R>),
    /// Batches, made shortly before they are due.
    Made(RequestQueue),
}

/// The slots and connections that requests are made for.
#[derive(Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) slots: &'a SlotSource,
    pub(crate) timeline: &'a Timeline,
    pub(crate) connections: &'a mut Connections,
}

impl<'a, R: RequestForm> RequestSource<'a, R> {
    /// Returns the source of a worker of `job`: the job's list or request, or the script.
    ///
    /// # Panics
    /// If the list is read during the load and there is no feed.
    pub(crate) fn new(
        job: &Job,
        mut script: Option<Script<'a>>,
        feed: Option<RowFeed>,
        backend: &mut impl Backend,
    ) -> RequestSource<'a, R> {
        let scheme = R::STREAMS.then(|| job.scheme());
        let feed = feed.map(|feed| feed.in_scheme(scheme));
        let (same, varied) = match (&mut script, &job.requests.list) {
            (Some(script), _) => of_script(job, script, backend),
            (None, None) => {
                (Some(R::prepare(&job.requests.request, job, backend)), Varied::Nothing)
            }
            (None, Some(list)) => match &list.rows {
                ListRows::Prepared(requests) => {
                    (None, Varied::Listed(Listed::new(list, requests, job, backend)))
                }
                ListRows::Read(_) | ListRows::Streamed(_) => {
                    assert!(feed.is_some(), "a list that is read has a reader");
                    (None, Varied::Made(RequestQueue::default()))
                }
            },
        };
        RequestSource { same, varied, script, feed, is_behind: false, made_at: Nanos::ZERO }
    }

    /// Returns the time that slots waited for the rows of a list, in nanoseconds.
    pub(crate) fn starved_ns(&self) -> u64 {
        self.feed.as_ref().map_or(0, |feed| feed.starved_ns)
    }

    /// Returns the number of rows of a stream, once, when its end is reached.
    #[inline]
    pub(crate) fn take_list_end(&mut self) -> Option<u64> {
        self.feed.as_mut()?.take_end()
    }

    /// True if a slot that could be sent waits for the row of a list.
    #[inline]
    pub(crate) fn is_starved(&self) -> bool {
        self.feed.as_ref().is_some_and(RowFeed::is_starved)
    }

    /// Returns the request that is sent each time; `None` if they differ.
    #[inline]
    pub(crate) fn same(&self) -> Option<&R> {
        self.same.as_ref()
    }

    /// Returns the requests of a list, to take one; `None` if there is no list.
    #[inline]
    pub(crate) fn listed_mut(&mut self) -> Option<&mut Listed<R>> {
        let Varied::Listed(listed) = &mut self.varied else { return None };
        Some(listed)
    }

    /// Returns the requests of a list; `None` if there is no list.
    #[inline]
    pub(crate) fn listed(&self) -> Option<&Listed<R>> {
        let Varied::Listed(listed) = &self.varied else { return None };
        Some(listed)
    }

    /// Returns a request by whose length bytes become requests; `None` if a script makes them.
    pub(crate) fn any(&self) -> Option<&R> {
        self.same.as_ref().or_else(|| self.listed()?.first())
    }

    /// Returns the next batch of the script; `None` if none is made.
    pub(crate) fn next_batch(&self) -> Option<&Batch> {
        self.queue()?.peek()
    }

    /// True if a request is made or can be made.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        match &self.varied {
            Varied::Nothing | Varied::Listed(_) => true,
            Varied::Made(queue) => queue.len() > 0 || !self.is_over(),
        }
    }

    /// True if the source may end before the load: it is a script, or read during the load.
    #[inline]
    pub(crate) fn may_end(&self) -> bool {
        self.script.is_some() || self.feed.is_some()
    }

    /// True if the script has ended, and every batch that it made before is sent, if it ended
    /// itself in `request()`.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(script) = &self.script else { return false };
        let is_sent = self.queue().is_none_or(|queue| queue.len() == 0);
        script.is_over() && (is_sent || !script.is_stopped() || !script.is_stopped_by_request)
    }

    /// Returns the connection of the next batch. Batches made for a socket that is gone are
    /// dropped.
    pub(crate) fn next_connection(&mut self, connections: &Connections) -> Option<ConnId> {
        let Varied::Made(queue) = &mut self.varied else { return None };
        loop {
            match queue.peek()?.reserved {
                None => return connections.ready.peek(),
                Some((conn, opened)) if connections.is_idle(conn, opened) => return Some(conn),
                Some(_) => {
                    let batch = queue.take().expect("looked at");
                    queue.recycle(batch);
                }
            }
        }
    }

    /// Removes and returns the next batch of the script.
    pub(crate) fn take_batch(&mut self) -> Option<Batch> {
        let Varied::Made(queue) = &mut self.varied else { return None };
        queue.take()
    }

    /// Returns a batch that was sent on `conn`.
    pub(crate) fn sent_batch(&mut self, conn: ConnId, batch: Batch) {
        let used = match &mut self.script {
            Some(script) => script.sent(conn, batch),
            None => batch,
        };
        if let Varied::Made(queue) = &mut self.varied {
            queue.recycle(used);
        }
    }

    /// Makes the missing batches that could be sent now, at most `most`, within a limit of time.
    /// Returns the time at which they were ready, which is their earliest send time.
    #[inline(never)]
    pub(crate) fn make_due(
        &mut self,
        demand: &mut Demand<'_>,
        backend: &mut impl Backend,
        now: Nanos,
        most: usize,
    ) -> Nanos {
        let mut ready_at = now;
        loop {
            let Some(queue) = self.queue() else { return ready_at };
            let wanted = most.min(queue.reserved() + demand.connections.ready.len());
            if queue.len() >= wanted || !demand.lacks(queue, now, now) {
                return ready_at;
            }
            if ready_at.since(now) >= MAKING_TURN_NS {
                self.is_behind = true;
                return ready_at;
            }
            let is_late = demand.is_missed(queue);
            let Some(requests) = self.make(demand, backend) else {
                self.feed.iter_mut().for_each(|feed| feed.starve(now));
                return ready_at;
            };
            self.feed.iter_mut().for_each(|feed| feed.relieve(now));
            if let (Some(script), true) = (&mut self.script, is_late) {
                script.ran_dry += requests;
            }
            // A string that is only repeated needs no call, and takes no time.
            ready_at = ready_at.max(self.made_at);
        }
    }

    /// Makes batches for future slots, while there is time before the next one. Returns the time at
    /// which it ended.
    #[inline(never)]
    pub(crate) fn make_ahead(
        &mut self,
        demand: &mut Demand<'_>,
        backend: &mut impl Backend,
        from: Nanos,
    ) -> Nanos {
        let mut now = from;
        for _ in 0..AHEAD_TURN {
            let is_enough = !self.has_time_ahead(demand, now) || now.since(from) >= MAKING_TURN_NS;
            if is_enough || self.make(demand, backend).is_none() {
                break;
            }
            now = now.max(self.made_at);
        }
        now
    }

    /// True if a batch for a future slot should be made now.
    pub(crate) fn has_time_ahead(&self, demand: &Demand<'_>, now: Nanos) -> bool {
        let Some(queue) = self.queue() else { return false };
        let is_made = queue.repeated.is_some() || demand.slots.schedule.peek().is_none();
        if is_made || self.is_over() {
            return false;
        }
        let is_free = !demand.connections.ready.is_empty();
        let waits = queue.is_learning || queue.takes_connections;
        // While no connection is free nothing can be sent, but responses may still change later
        // requests.
        let soon = now.after(self.request_mean_ns());
        let is_pressing = is_free && queue.len() > 0 && demand.slots.has_due(demand.timeline, soon);
        // Slots of the drain may never come, and batches made for them would be wasted.
        let last = demand.timeline.t1.before(1);
        let until = if waits { now.after(self.lead_ns()).min(last) } else { last };
        let is_blocked = is_pressing || (waits && !is_free) || queue.len() >= queue.limit();
        !is_blocked && demand.lacks(queue, until, now)
    }

    /// Returns the time to wake for a slot that is due at `due`: earlier if its request is not made
    /// yet. Nothing is made ahead for slots after t1.
    pub(crate) fn lead(&self, timeline: &Timeline, due: Nanos, now: Nanos) -> Nanos {
        match self.queue() {
            Some(queue) if due < timeline.t1 && queue.len() == 0 && queue.repeated.is_none() => {
                due.before(self.lead_ns()).max(now.min(due))
            }
            _ => due,
        }
    }

    #[inline]
    fn queue(&self) -> Option<&RequestQueue> {
        let Varied::Made(queue) = &self.varied else { return None };
        Some(queue)
    }

    /// True if no more requests are made.
    fn is_over(&self) -> bool {
        match (&self.script, &self.feed) {
            (Some(script), _) => script.is_over(),
            (None, Some(feed)) => feed.is_over(),
            (None, None) => true,
        }
    }

    fn request_mean_ns(&self) -> u64 {
        self.script.as_ref().map_or(0, |script| script.request_mean_ns())
    }

    /// Returns the lead of a script's call before its slot, in nanoseconds: several times the
    /// duration of a call.
    fn lead_ns(&self) -> u64 {
        self.request_mean_ns().saturating_mul(4).max(LEAD_MIN_NS)
    }

    /// Makes a batch and returns its number of requests; `None` if the script makes no more, or if
    /// no row of a list is read yet.
    fn make(&mut self, demand: &mut Demand<'_>, backend: &mut impl Backend) -> Option<u64> {
        let Varied::Made(queue) = &mut self.varied else { return None };
        if let Some(feed) = &mut self.feed {
            let mut batch = queue.empty();
            let is_filled = feed.fill(&mut batch);
            if is_filled {
                queue.push(batch)
            } else {
                queue.recycle(batch)
            }
            return is_filled.then_some(1);
        }
        let script = self.script.as_mut().filter(|script| !script.is_over())?;
        let conn = if queue.reserves { Some(demand.connections.ready.peek()?) } else { None };
        let mut batch = queue.empty();
        match &queue.repeated {
            Some(repeated) => batch.clone_from(repeated),
            // The script reads the clock after the call; batches made ahead need no later time.
            None => self.made_at = script.request(&mut batch, conn, backend)?,
        }
        batch.reserved = conn.map(|conn| (conn, demand.connections.reserve(conn)));
        let requests = batch.requests.len() as u64;
        queue.push(batch);
        Some(requests)
    }
}

/// Returns a script's requests: the only one of a string that it repeats, or batches.
fn of_script<R: RequestForm>(
    job: &Job,
    script: &mut Script<'_>,
    backend: &mut impl Backend,
) -> (Option<R>, Varied<R>) {
    let calls = script.calls;
    let is_learning = calls.response.is_some();
    let takes_connections = calls.takes_connections;
    assert!(!(R::STREAMS && takes_connections), "a script that takes connections needs HTTP/1");
    // Streams leave room for other strings, in any order.
    let reserves = takes_connections || (!job.plan.load.is_open_loop() && !R::STREAMS);
    let mut queue = RequestQueue::default();
    (queue.takes_connections, queue.reserves) = (takes_connections, reserves);
    if calls.request {
        queue.is_learning = is_learning;
        return (None, Varied::Made(queue));
    }
    let batch = script.static_request(backend);
    if !takes_connections && let Some(request) = R::only_in(&batch, job.plan.depth(), backend) {
        return (Some(request), Varied::Nothing);
    }
    queue.repeated = Some(batch);
    (None, Varied::Made(queue))
}

impl Demand<'_> {
    /// Returns the intended time of the first slot without a batch; `None` in a closed loop.
    fn next_unmade(&self, queue: &RequestQueue) -> Option<Nanos> {
        let later_ns = self.slots.schedule.gap_ns().saturating_mul(queue.requests);
        Some(self.slots.next_at(self.timeline)?.after(later_ns))
    }

    /// True if a slot without a batch is due by `until`.
    fn lacks(&self, queue: &RequestQueue, until: Nanos, now: Nanos) -> bool {
        match self.next_unmade(queue) {
            Some(due) => due <= until && (due < self.timeline.t1 || self.slots.has_tail),
            None => {
                let is_wanted = self.slots.quota.is_none_or(|left| queue.requests < left);
                is_wanted && self.slots.is_due(self.timeline, now)
            }
        }
    }

    /// True if the request for the next due slot could have been sent in time, had it been made: a
    /// connection was free.
    fn is_missed(&self, queue: &RequestQueue) -> bool {
        let Some(due) = self.next_unmade(queue) else { return false };
        let Some(conn) = self.connections.ready.peek() else { return false };
        let is_measured = due < self.timeline.t1;
        let is_free = self.connections.at(conn).freed_at <= due;
        queue.repeated.is_none() && is_measured && is_free
    }
}
