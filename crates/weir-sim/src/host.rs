//! The running server: sessions, a queue of requests, workers, and the faults of its responses. It
//! accesses neither the network nor the client; it plans the cargo that leaves it, and the times.

use std::collections::{BTreeMap, VecDeque};

use weir_io::{ConnId, Nanos};

use crate::agenda::{Agenda, Cargo, Step};
use crate::faults::{Pick, ResponseFault};
use crate::framer::Framer;
use crate::pause::Pauses;
use crate::random::{Random, Seed};
use crate::response::{self, Response};
use crate::server::{Server, Workers};
use crate::truth::{Fate, Request, TruthHandle};

/// The running server.
#[derive(Debug)]
pub(crate) struct Host {
    server: Server,
    faults: Vec<(Pick, ResponseFault)>,
    stalls: Pauses,
    /// Sessions by socket; `None` if no connection was established.
    sessions: Vec<Option<Session>>,
    /// First waiting requests of their sessions, by order of arrival, with their sockets.
    queue: BTreeMap<usize, usize>,
    busy: u32,
    service_chance: Random,
    response_chance: Random,
    fault_chance: Random,
    truth: TruthHandle,
}

/// The server's side of one connection.
#[derive(Debug)]
struct Session {
    conn: ConnId,
    generation: u16,
    framer: Framer,
    waiting: VecDeque<Job>,
    serving: Option<Job>,
    responded: u64,
    /// True as long as neither side has ended the session.
    is_open: bool,
    /// Reason of the planned end, if one is planned.
    ending: Option<Ending>,
    /// Number of occurrences so far. A planned end for idleness holds only if it is unchanged.
    epoch: u64,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    /// Index into the truth's requests, thus also the order of arrival.
    request: usize,
    is_head: bool,
    number: Option<u64>,
    fault: Option<ResponseFault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Response,
    Idle,
    Fault,
}

impl Host {
    pub(crate) fn new(
        server: Server,
        faults: Vec<(Pick, ResponseFault)>,
        seed: Seed,
        truth: TruthHandle,
    ) -> Host {
        let stalls = Pauses::new(&server.stalls);
        Host {
            server,
            faults,
            stalls,
            sessions: Vec::new(),
            queue: BTreeMap::new(),
            busy: 0,
            service_chance: Random::new(seed, 2),
            response_chance: Random::new(seed, 3),
            fault_chance: Random::new(seed, 4),
            truth,
        }
    }

    /// Opens the session of a new connection.
    pub(crate) fn accept(
        &mut self,
        now: Nanos,
        socket: usize,
        (conn, generation): (ConnId, u16),
        agenda: &mut Agenda,
    ) {
        if self.sessions.len() <= socket {
            self.sessions.resize_with(socket + 1, || None);
        }
        self.sessions[socket] = Some(Session {
            conn,
            generation,
            framer: Framer::default(),
            waiting: VecDeque::new(),
            serving: None,
            responded: 0,
            is_open: true,
            ending: None,
            epoch: 0,
        });
        self.plan_idle_close(now, socket, agenda);
    }

    /// Handles bytes that arrived. Returns false if no open connection can take them.
    pub(crate) fn receive(
        &mut self,
        now: Nanos,
        socket: usize,
        (sent_at, bytes): (Nanos, &[u8]),
        agenda: &mut Agenda,
    ) -> bool {
        let Some(session) = self.sessions.get_mut(socket).and_then(Option::as_mut) else {
            return false;
        };
        if !session.is_open {
            return false;
        }
        session.epoch += 1;
        let mut truth = self.truth.read();
        truth.counts.bytes_to_server += bytes.len() as u64;
        let was_idle = session.serving.is_none() && session.waiting.is_empty();
        let Session { framer, waiting, conn, generation, .. } = session;
        framer.receive(bytes, sent_at, |framed| {
            let request = truth.requests.len();
            let chance = &mut self.fault_chance;
            let meant = self.faults.iter().find(|(pick, _)| pick.hits(request as u64, now, chance));
            let fault = meant.map(|(_, fault)| *fault);
            let (is_head, number) = (framed.is_head, framed.number);
            waiting.push_back(Job { request, is_head, number, fault });
            truth.requests.push(Request {
                conn: *conn,
                generation: *generation,
                number: framed.number,
                sent_at: framed.sent_at,
                received_at: now,
                started_at: None,
                departed_at: None,
                first_delivered_at: None,
                delivered_at: None,
                fate: Fate::Waiting,
            });
        });
        drop(truth);
        if was_idle {
            self.enqueue(socket);
            self.start(now, agenda);
        }
        true
    }

    /// Handles the client's end of a connection.
    pub(crate) fn client_leaves(&mut self, socket: usize) {
        if self.end(socket, Fate::Abandoned) {
            self.truth.read().counts.closes_by_client += 1;
        }
    }

    /// Handles the end of a worker's work on a request.
    pub(crate) fn served(&mut self, now: Nanos, socket: usize, agenda: &mut Agenda) {
        self.busy -= 1;
        let session = self.sessions[socket].as_mut().expect("only sessions are served");
        let job = session.serving.expect("a worker worked on a request");
        if session.is_open {
            self.respond(now, socket, job, agenda);
        }
        self.start(now, agenda);
    }

    /// Handles cargo that is about to leave on a connection. Returns false if the connection is no
    /// longer open.
    pub(crate) fn departs(
        &mut self,
        now: Nanos,
        socket: usize,
        cargo: &Cargo,
        agenda: &mut Agenda,
    ) -> bool {
        let session = self.sessions[socket].as_mut().expect("only sessions send");
        if !session.is_open {
            return false;
        }
        match cargo {
            Cargo::Bytes { ends: Some(request), .. } => {
                self.truth.read().requests[*request].departed_at = Some(now);
                session.responded += 1;
                session.epoch += 1;
                if session.ending.is_none() {
                    session.serving = None;
                    self.enqueue(socket);
                    self.plan_idle_close(now, socket, agenda);
                    self.start(now, agenda);
                }
            }
            Cargo::Bytes { .. } => {}
            Cargo::End { .. } | Cargo::Reset => {
                let ending = session.ending;
                if let Cargo::End { ends: Some(request) } = cargo {
                    self.truth.read().requests[*request].departed_at = Some(now);
                }
                self.end(socket, Fate::Dropped);
                let mut truth = self.truth.read();
                match ending {
                    Some(Ending::Response) => truth.counts.closes_after_response += 1,
                    Some(Ending::Idle) => truth.counts.closes_when_idle += 1,
                    Some(Ending::Fault) | None => {}
                }
            }
        }
        true
    }

    /// Plans the close of a connection, if it was idle since `epoch`.
    pub(crate) fn close_idle(
        &mut self,
        now: Nanos,
        socket: usize,
        epoch: u64,
        agenda: &mut Agenda,
    ) {
        if let Some(session) = self.idle_session(socket, epoch) {
            session.ending = Some(Ending::Idle);
            agenda.plan(now, Step::Depart { socket, cargo: Cargo::End { ends: None } });
        }
    }

    /// Plans the reset of a connection, if it was idle since `epoch`.
    pub(crate) fn reset_idle(
        &mut self,
        now: Nanos,
        (socket, epoch): (usize, u64),
        fault: ResponseFault,
        agenda: &mut Agenda,
    ) {
        if let Some(session) = self.idle_session(socket, epoch) {
            session.ending = Some(Ending::Fault);
            agenda.plan(now, Step::Depart { socket, cargo: Cargo::Reset });
            *self.truth.read().counts.injected.entry(fault).or_default() += 1;
        }
    }

    /// Resets one connection.
    pub(crate) fn reset(&mut self, now: Nanos, socket: usize, agenda: &mut Agenda) {
        if let Some(session) = self.sessions[socket].as_mut() {
            session.ending = Some(Ending::Fault);
            agenda.plan(now, Step::Depart { socket, cargo: Cargo::Reset });
        }
    }

    /// Resets every open connection.
    pub(crate) fn reset_all(&mut self, now: Nanos, agenda: &mut Agenda) {
        for socket in 0..self.sessions.len() {
            if self.sessions[socket].as_ref().is_some_and(|session| session.is_open) {
                self.truth.read().counts.resets_by_time += 1;
                self.reset(now, socket, agenda);
            }
        }
    }

    fn idle_session(&mut self, socket: usize, epoch: u64) -> Option<&mut Session> {
        self.sessions[socket].as_mut().filter(|session| {
            let is_idle = session.serving.is_none() && session.waiting.is_empty();
            is_idle && session.is_open && session.ending.is_none() && session.epoch == epoch
        })
    }

    /// Puts the first waiting request of a session into the queue of the workers.
    fn enqueue(&mut self, socket: usize) {
        let session = self.sessions[socket].as_ref().expect("only sessions have requests");
        if let Some(job) = session.waiting.front() {
            self.queue.insert(job.request, socket);
        }
    }

    /// Assigns the oldest requests to free workers.
    fn start(&mut self, now: Nanos, agenda: &mut Agenda) {
        loop {
            let is_free = match self.server.workers {
                Workers::Unlimited => true,
                Workers::Limited(workers) => self.busy < workers,
            };
            if !is_free {
                return;
            }
            let Some((_, socket)) = self.queue.pop_first() else {
                return;
            };
            self.start_one(now, socket, agenda);
        }
    }

    fn start_one(&mut self, now: Nanos, socket: usize, agenda: &mut Agenda) {
        let session = self.sessions[socket].as_mut().expect("only sessions are queued");
        let job = session.waiting.pop_front().expect("a queued session has a request");
        session.serving = Some(job);
        let from = self.stalls.resume(now);
        let mut truth = self.truth.read();
        let request = &mut truth.requests[job.request];
        request.started_at = Some(from);
        if self.server.black_hole_from.is_some_and(|black_from| from >= black_from) {
            request.fate = Fate::Swallowed;
            return;
        }
        let work_ns = self.server.service.draw(&mut self.service_chance);
        self.busy += 1;
        agenda.plan(self.stalls.finish(from, work_ns), Step::Served { socket });
    }

    /// Plans the cargo for one request.
    fn respond(&mut self, now: Nanos, socket: usize, job: Job, agenda: &mut Agenda) {
        let session = self.sessions[socket].as_mut().expect("only sessions respond");
        let is_last = self.server.responses.close_after == Some(session.responded + 1);
        let chance = &mut self.response_chance;
        let response =
            response::compose(&self.server.responses, (job.is_head, job.number), is_last, chance);
        let part = |cut: usize| {
            let bytes = [&response.interim, &response.bytes[..cut]].concat();
            Cargo::Bytes { bytes, begins: None, ends: None }
        };
        let (cargo, end) = match job.fault {
            None
            | Some(
                ResponseFault::ResetIdle { .. }
                | ResponseFault::CloseAfter
                | ResponseFault::JunkAfter,
            ) => {
                return self.respond_well(now, socket, job, response, agenda);
            }
            Some(ResponseFault::ResetBefore) => (None, Some(Cargo::Reset)),
            Some(ResponseFault::ResetWithin) => {
                (Some(part(response.cut(chance))), Some(Cargo::Reset))
            }
            Some(ResponseFault::CloseBefore) => (None, Some(Cargo::End { ends: None })),
            Some(ResponseFault::CloseWithin) => {
                (Some(part(response.cut(chance))), Some(Cargo::End { ends: None }))
            }
            Some(ResponseFault::Malformed(breakage)) => {
                let bytes = response::malformed(breakage);
                (Some(Cargo::Bytes { bytes, begins: None, ends: None }), None)
            }
            Some(ResponseFault::Swallow) => (None, None),
        };
        if end.is_some() {
            session.ending = Some(Ending::Fault);
        }
        if let Some(fault) = job.fault {
            let mut truth = self.truth.read();
            truth.requests[job.request].fate = Fate::Faulted(fault);
            *truth.counts.injected.entry(fault).or_default() += 1;
        }
        for cargo in [cargo, end].into_iter().flatten() {
            agenda.plan(now, Step::Depart { socket, cargo });
        }
    }

    /// Plans a complete response, piece by piece, and the fault that follows it.
    fn respond_well(
        &mut self,
        now: Nanos,
        socket: usize,
        job: Job,
        response: Response,
        agenda: &mut Agenda,
    ) {
        let session = self.sessions[socket].as_mut().expect("only sessions respond");
        let closes = response.closes || job.fault == Some(ResponseFault::CloseAfter);
        if closes {
            session.ending = Some(if response.closes { Ending::Response } else { Ending::Fault });
        }
        let mut truth = self.truth.read();
        truth.requests[job.request].fate = Fate::Responded(response.status);
        if !response.interim.is_empty() {
            truth.counts.interim_responses += 1;
            let cargo = Cargo::Bytes { bytes: response.interim, begins: None, ends: None };
            agenda.plan(now, Step::Depart { socket, cargo });
        }
        let (pieces, gap_ns) = match self.server.responses.drip {
            Some(drip) => (drip.pieces.clamp(1, response.bytes.len()), drip.gap_ns),
            None => (1, 0),
        };
        let mut at = now;
        for piece in 0..pieces {
            let edge = |piece: usize| response.bytes.len() * piece / pieces;
            let bytes = response.bytes[edge(piece)..edge(piece + 1)].to_vec();
            let begins = (piece == 0).then_some(job.request);
            let is_last = piece + 1 == pieces;
            let ends = (is_last && !response.ends_by_close).then_some(job.request);
            if piece > 0 {
                at = self.stalls.finish(at, gap_ns);
            }
            agenda.plan(at, Step::Depart { socket, cargo: Cargo::Bytes { bytes, begins, ends } });
        }
        match job.fault {
            Some(ResponseFault::JunkAfter) => {
                let bytes = b"and this belongs to nothing\r\n\r\n".to_vec();
                let cargo = Cargo::Bytes { bytes, begins: None, ends: None };
                agenda.plan(at, Step::Depart { socket, cargo });
            }
            // The departure of the last piece counts as one more occurrence.
            Some(ResponseFault::ResetIdle { after_ns }) if !closes => {
                let step = Step::ResetIdle { socket, epoch: session.epoch + 1, after_ns };
                agenda.plan(self.stalls.resume(at.after(after_ns)), step);
            }
            _ => {}
        }
        if let Some(fault @ (ResponseFault::JunkAfter | ResponseFault::CloseAfter)) = job.fault {
            *truth.counts.injected.entry(fault).or_default() += 1;
        }
        if closes {
            let ends = response.ends_by_close.then_some(job.request);
            agenda.plan(at, Step::Depart { socket, cargo: Cargo::End { ends } });
        }
    }

    fn plan_idle_close(&mut self, now: Nanos, socket: usize, agenda: &mut Agenda) {
        let (Some(idle_ns), Some(session)) =
            (self.server.idle_close_ns, self.sessions[socket].as_ref())
        else {
            return;
        };
        let at = self.stalls.resume(now.after(idle_ns));
        agenda.plan(at, Step::CloseIdle { socket, epoch: session.epoch });
    }

    /// Ends a session; its requests without a response get `fate`. Returns false if it had ended
    /// before.
    fn end(&mut self, socket: usize, fate: Fate) -> bool {
        let Some(session) = self.sessions.get_mut(socket).and_then(Option::as_mut) else {
            return false;
        };
        if !session.is_open {
            return false;
        }
        session.is_open = false;
        session.framer = Framer::default();
        if let Some(job) = session.waiting.front() {
            self.queue.remove(&job.request);
        }
        let mut truth = self.truth.read();
        for job in session.serving.iter().chain(&session.waiting) {
            let request = &mut truth.requests[job.request];
            let is_cut =
                matches!(request.fate, Fate::Responded(_)) && request.departed_at.is_none();
            if request.fate == Fate::Waiting || is_cut {
                request.fate = fate;
            }
        }
        session.waiting.clear();
        true
    }
}
