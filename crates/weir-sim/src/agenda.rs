//! The agenda: future steps in order of time; steps of one instant run in the order planned.

use std::collections::BTreeMap;

use weir_io::Nanos;

use crate::faults::ConnectFault;

/// A step of the world. `socket` counts sockets over the whole run.
#[derive(Debug)]
pub(crate) enum Step {
    /// A connect succeeds or fails.
    ConnectEnds { socket: usize, fault: Option<ConnectFault> },
    /// Bytes reach the server.
    ReachServer { socket: usize, sent_at: Nanos, bytes: Vec<u8> },
    /// The client's end of a connection, by close or reset, reaches the server.
    ClientLeaves { socket: usize },
    /// Cargo leaves the server.
    Depart { socket: usize, cargo: Cargo },
    /// Cargo reaches the client.
    ReachClient { socket: usize, cargo: Cargo },
    /// The server does what it had planned for a connection.
    Serve { socket: usize, task: Task },
    /// The server resets every connection.
    ResetAll,
    /// A signal from outside the world.
    Signal(usize),
}

/// A task that a server plans for itself on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// A worker has finished the request that the connection waits for.
    EndWork,
    /// The server closes the connection, if it was idle since `epoch`.
    CloseIdle { epoch: u64 },
    /// The server resets the connection, if it was idle since `epoch`.
    ResetIdle { epoch: u64, after_ns: u64 },
    /// A service is called that waits for this time.
    Wake { token: u64 },
}

/// A moment on one socket, at which its server may plan steps.
#[derive(Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) now: Nanos,
    pub(crate) socket: usize,
    pub(crate) agenda: &'a mut Agenda,
}

impl Moment<'_> {
    /// Plans a task of the server on this socket.
    pub(crate) fn plan(&mut self, at: Nanos, task: Task) {
        self.agenda.plan(at, Step::Serve { socket: self.socket, task });
    }

    /// Plans that cargo leaves the server on this socket.
    pub(crate) fn depart(&mut self, at: Nanos, cargo: Cargo) {
        self.agenda.plan(at, Step::Depart { socket: self.socket, cargo });
    }
}

/// Data on its way from the server to the client.
#[derive(Debug)]
pub(crate) enum Cargo {
    /// Bytes; `begins` and `ends` identify the request whose final response begins and ends with
    /// them.
    Bytes { bytes: Vec<u8>, begins: Option<usize>, ends: Option<usize> },
    /// The end of the stream; `ends` identifies the request whose response it ends.
    End { ends: Option<usize> },
    /// A reset.
    Reset,
}

impl Cargo {
    /// Returns bytes that neither begin nor end a response.
    pub(crate) fn of(bytes: Vec<u8>) -> Cargo {
        Cargo::Bytes { bytes, begins: None, ends: None }
    }
}

/// The future steps.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Steps by time and order of planning.
    steps: BTreeMap<(Nanos, u64), Step>,
    planned: u64,
}

impl Agenda {
    /// Plans a step.
    pub(crate) fn plan(&mut self, at: Nanos, step: Step) {
        self.steps.insert((at, self.planned), step);
        self.planned += 1;
    }

    /// Returns the time of the next step.
    pub(crate) fn peek(&self) -> Option<Nanos> {
        self.steps.first_key_value().map(|((at, _), _)| *at)
    }

    /// Removes and returns the next step.
    pub(crate) fn take(&mut self) -> Option<(Nanos, Step)> {
        self.steps.pop_first().map(|((at, _), step)| (at, step))
    }
}
