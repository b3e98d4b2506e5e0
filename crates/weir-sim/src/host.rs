//! The running server: sessions, a queue of requests, workers, and the faults of its responses. It
//! accesses neither the network nor the client; it plans the cargo that leaves it, and the times.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weir_io::Nanos;

use crate::agenda::{Cargo, Moment, Task};
use crate::faults::ResponseFault;
use crate::framer::Framer;
use crate::pause::Pauses;
use crate::peer::Peer;
use crate::random::Random;
use crate::response::{self, Response};
use crate::server::Workers;
use crate::truth::{Fate, SocketName, TrueRequest, TruthHandle};
use crate::world::World;

/// The running server.
#[derive(Debug)]
pub(crate) struct Host {
    world: Arc<World>,
    stalls: Pauses,
    /// Sessions by socket, of each connection that was established.
    sessions: BTreeMap<usize, HostSession>,
    /// First waiting requests of their sessions, by order of arrival, with their sockets.
    queue: BTreeMap<usize, usize>,
    busy: u32,
    service_chance: Random,
    response_chance: Random,
    fault_chance: Random,
    truth: TruthHandle,
}

/// The server's side of one connection.
#[derive(Debug, Default)]
struct HostSession {
    name: SocketName,
    framer: Framer,
    waiting: VecDeque<PendingResponse>,
    serving: Option<PendingResponse>,
    responded: u64,
    /// True as long as neither side has ended the session.
    is_open: bool,
    /// Reason of the planned end, if one is planned.
    ending: Option<SessionEnding>,
    /// Number of occurrences so far. A planned end for idleness holds only if it is unchanged.
    epoch: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingResponse {
    /// Index into the truth's requests, thus also the order of arrival.
    request: usize,
    is_head: bool,
    number: Option<u64>,
    fault: Option<ResponseFault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionEnding {
    Response,
    Idle,
    Fault,
}

impl Host {
    pub(crate) fn new(world: &Arc<World>, truth: TruthHandle) -> Host {
        let seed = world.seed;
        Host {
            world: Arc::clone(world),
            stalls: Pauses::new(&world.server.stalls),
            sessions: BTreeMap::new(),
            queue: BTreeMap::new(),
            busy: 0,
            service_chance: Random::new(seed, 2),
            response_chance: Random::new(seed, 3),
            fault_chance: Random::new(seed, 4),
            truth,
        }
    }

    /// Ends a connection that was idle since `epoch`. Returns false if it was not.
    fn end_idle(
        &mut self,
        moment: &mut Moment<'_>,
        epoch: u64,
        ending: SessionEnding,
        cargo: Cargo,
    ) -> bool {
        let session = self.sessions.get_mut(&moment.socket).filter(|session| {
            let is_idle = session.serving.is_none() && session.waiting.is_empty();
            is_idle && session.is_open && session.ending.is_none() && session.epoch == epoch
        });
        let Some(session) = session else { return false };
        session.ending = Some(ending);
        moment.depart(moment.now, cargo);
        true
    }

    /// Handles the end of a worker's work on a request.
    fn served(&mut self, moment: &mut Moment<'_>) {
        self.busy -= 1;
        let session = self.sessions.get_mut(&moment.socket).expect("only sessions are served");
        let job = session.serving.expect("a worker worked on a request");
        if session.is_open {
            self.respond(moment, job);
        }
        self.start(moment);
    }

    /// Puts the first waiting request of a session into the queue of the workers.
    fn enqueue(&mut self, socket: usize) {
        let session = self.sessions.get(&socket).expect("only sessions have requests");
        if let Some(job) = session.waiting.front() {
            self.queue.insert(job.request, socket);
        }
    }

    /// Assigns the oldest requests to free workers.
    fn start(&mut self, moment: &mut Moment<'_>) {
        let Moment { now, .. } = *moment;
        while match self.world.server.workers {
            Workers::Unlimited => true,
            Workers::Limited(workers) => self.busy < workers,
        } && let Some((_, socket)) = self.queue.pop_first()
        {
            self.start_one(&mut Moment { now, socket, agenda: &mut *moment.agenda });
        }
    }

    fn start_one(&mut self, moment: &mut Moment<'_>) {
        let Moment { now, socket, .. } = *moment;
        let session = self.sessions.get_mut(&socket).expect("only sessions are queued");
        let job = session.waiting.pop_front().expect("a queued session has a request");
        session.serving = Some(job);
        let from = self.stalls.resume(now);
        let mut truth = self.truth.read();
        let request = &mut truth.requests[job.request];
        request.started_at = Some(from);
        if self.world.server.black_hole_from.is_some_and(|black_from| from >= black_from) {
            request.fate = Fate::Swallowed;
            return;
        }
        let work_ns = self.world.server.service.draw(&mut self.service_chance);
        self.busy += 1;
        moment.plan(self.stalls.finish(from, work_ns), Task::EndWork);
    }

    /// Plans the cargo for one request.
    fn respond(&mut self, moment: &mut Moment<'_>, job: PendingResponse) {
        let session = self.sessions.get_mut(&moment.socket).expect("only sessions respond");
        let is_last = self.world.server.responses.close_after == Some(session.responded + 1);
        let chance = &mut self.response_chance;
        let response = response::compose(
            &self.world.server.responses,
            job.is_head,
            job.number,
            is_last,
            chance,
        );
        let part = |cut: usize| Cargo::of([&response.interim, &response.bytes[..cut]].concat());
        let follows_response = |fault: &ResponseFault| {
            use ResponseFault::{CloseAfter, JunkAfter, ResetIdle};
            matches!(fault, ResetIdle { .. } | CloseAfter | JunkAfter)
        };
        let Some(fault) = job.fault.filter(|fault| !follows_response(fault)) else {
            return self.respond_well(moment, job, response);
        };
        let cargo = match fault {
            ResponseFault::ResetWithin | ResponseFault::CloseWithin => {
                Some(part(response.cut(chance)))
            }
            ResponseFault::Malformed(breakage) => Some(Cargo::of(response::malformed(breakage))),
            _ => None,
        };
        let end = match fault {
            ResponseFault::ResetBefore | ResponseFault::ResetWithin => Some(Cargo::Reset),
            ResponseFault::CloseBefore | ResponseFault::CloseWithin => {
                Some(Cargo::End { ends: None })
            }
            _ => None,
        };
        if end.is_some() {
            session.ending = Some(SessionEnding::Fault);
        }
        let mut truth = self.truth.read();
        truth.requests[job.request].fate = Fate::Faulted(fault);
        *truth.counts.injected.entry(fault).or_default() += 1;
        for cargo in [cargo, end].into_iter().flatten() {
            moment.depart(moment.now, cargo);
        }
    }

    /// Plans a complete response, piece by piece, and the fault that follows it.
    fn respond_well(&mut self, moment: &mut Moment<'_>, job: PendingResponse, response: Response) {
        let session = self.sessions.get_mut(&moment.socket).expect("only sessions respond");
        let closes = response.closes || job.fault == Some(ResponseFault::CloseAfter);
        if closes {
            session.ending =
                Some(if response.closes { SessionEnding::Response } else { SessionEnding::Fault });
        }
        let mut truth = self.truth.read();
        truth.requests[job.request].fate = Fate::Responded(response.status);
        if !response.interim.is_empty() {
            truth.counts.interim_responses += 1;
            moment.depart(moment.now, Cargo::of(response.interim));
        }
        let (pieces, gap_ns) = match self.world.server.responses.drip {
            Some(drip) => (drip.pieces.clamp(1, response.bytes.len()), drip.gap_ns),
            None => (1, 0),
        };
        let mut at = moment.now;
        for piece in 0..pieces {
            let edge = |piece: usize| response.bytes.len() * piece / pieces;
            let bytes = response.bytes[edge(piece)..edge(piece + 1)].to_vec();
            let begins = (piece == 0).then_some(job.request);
            let is_last = piece + 1 == pieces;
            let ends = (is_last && !response.ends_by_close).then_some(job.request);
            if piece > 0 {
                at = self.stalls.finish(at, gap_ns);
            }
            moment.depart(at, Cargo::Bytes { bytes, begins, ends });
        }
        match job.fault {
            Some(ResponseFault::JunkAfter) => {
                moment.depart(at, Cargo::of(b"and this belongs to nothing\r\n\r\n".to_vec()));
            }
            // The departure of the last piece counts as one more occurrence.
            Some(ResponseFault::ResetIdle { after_ns }) if !closes => {
                let task = Task::ResetIdle { epoch: session.epoch + 1, after_ns };
                moment.plan(self.stalls.resume(at.after(after_ns)), task);
            }
            _ => {}
        }
        if let Some(fault @ (ResponseFault::JunkAfter | ResponseFault::CloseAfter)) = job.fault {
            *truth.counts.injected.entry(fault).or_default() += 1;
        }
        if closes {
            let ends = response.ends_by_close.then_some(job.request);
            moment.depart(at, Cargo::End { ends });
        }
    }

    fn plan_idle_close(&mut self, moment: &mut Moment<'_>) {
        if let (Some(idle_ns), Some(session)) =
            (self.world.server.idle_close_ns, self.sessions.get(&moment.socket))
        {
            let at = self.stalls.resume(moment.now.after(idle_ns));
            moment.plan(at, Task::CloseIdle { epoch: session.epoch });
        }
    }

    /// Ends a session; its requests without a response get `fate`. Returns false if it had ended
    /// before.
    fn end(&mut self, socket: usize, fate: Fate) -> bool {
        let Some(session) = open(&mut self.sessions, socket) else { return false };
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

impl Peer for Host {
    fn accept(&mut self, moment: &mut Moment<'_>, name: SocketName) {
        let session = HostSession { name, is_open: true, ..HostSession::default() };
        self.sessions.insert(moment.socket, session);
        self.plan_idle_close(moment);
    }

    fn receive(&mut self, moment: &mut Moment<'_>, sent_at: Nanos, bytes: &[u8]) -> bool {
        let Some(session) = open(&mut self.sessions, moment.socket) else { return false };
        session.epoch += 1;
        let mut truth = self.truth.read();
        truth.counts.bytes_to_server += bytes.len() as u64;
        let was_idle = session.serving.is_none() && session.waiting.is_empty();
        session.framer.receive(bytes, sent_at, |framed| {
            let request = truth.requests.len();
            let chance = &mut self.fault_chance;
            let mut faults = self.world.faults.response.iter();
            let meant = faults.find(|(pick, _)| pick.hits(request as u64, moment.now, chance));
            let fault = meant.map(|(_, fault)| *fault);
            let is_head = framed.is_head;
            let number = framed.number;
            session.waiting.push_back(PendingResponse { request, is_head, number, fault });
            truth.requests.push(TrueRequest::new(session.name, number, framed.sent_at, moment.now));
        });
        drop(truth);
        if was_idle {
            self.enqueue(moment.socket);
            self.start(moment);
        }
        true
    }

    fn client_leaves(&mut self, socket: usize) {
        if self.end(socket, Fate::Abandoned) {
            self.truth.read().counts.closes.by_client += 1;
        }
    }

    fn departs(&mut self, moment: &mut Moment<'_>, cargo: &Cargo) -> bool {
        let Some(session) = open(&mut self.sessions, moment.socket) else { return false };
        let ending = session.ending;
        if let Cargo::Bytes { ends: Some(_), .. } = cargo {
            session.responded += 1;
            session.epoch += 1;
            if ending.is_none() {
                session.serving = None;
            }
        }
        if let Cargo::Bytes { ends: Some(request), .. } | Cargo::End { ends: Some(request) } = cargo
        {
            self.truth.read().requests[*request].departed_at = Some(moment.now);
        }
        match cargo {
            Cargo::Bytes { ends: Some(_), .. } if ending.is_none() => {
                self.enqueue(moment.socket);
                self.plan_idle_close(moment);
                self.start(moment);
            }
            Cargo::Bytes { .. } => {}
            Cargo::End { .. } | Cargo::Reset => {
                self.end(moment.socket, Fate::Dropped);
                let closes = &mut self.truth.read().counts.closes;
                closes.after_response += u64::from(ending == Some(SessionEnding::Response));
                closes.when_idle += u64::from(ending == Some(SessionEnding::Idle));
            }
        }
        true
    }

    fn serve(&mut self, moment: &mut Moment<'_>, task: Task) {
        match task {
            Task::EndWork => self.served(moment),
            Task::CloseIdle { epoch } => {
                self.end_idle(moment, epoch, SessionEnding::Idle, Cargo::End { ends: None });
            }
            Task::ResetIdle { epoch, after_ns } => {
                if self.end_idle(moment, epoch, SessionEnding::Fault, Cargo::Reset) {
                    let fault = ResponseFault::ResetIdle { after_ns };
                    *self.truth.read().counts.injected.entry(fault).or_default() += 1;
                }
            }
            Task::Wake { .. } => unreachable!("only services wait"),
        }
    }

    fn sockets(&self) -> Vec<usize> {
        let open = self.sessions.iter().filter(|(_, session)| session.is_open);
        open.map(|(socket, _)| *socket).collect()
    }

    fn reset(&mut self, moment: &mut Moment<'_>) {
        if let Some(session) = self.sessions.get_mut(&moment.socket) {
            session.ending = Some(SessionEnding::Fault);
            moment.depart(moment.now, Cargo::Reset);
        }
    }
}

/// Returns the session of a socket, if it is open.
fn open(sessions: &mut BTreeMap<usize, HostSession>, socket: usize) -> Option<&mut HostSession> {
    sessions.get_mut(&socket).filter(|session| session.is_open)
}
