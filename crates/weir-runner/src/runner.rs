//! The runner: carries out specifications of runs.

use std::sync::Arc;

use weir_io::Endpoint;
use weir_result::Plan;
use weir_script::ScriptError;

use crate::errors::Error;
use crate::finished::Finished;
use crate::interrupts::Interrupts;
use crate::observer::Observer;
use crate::plan::{plan, plan_at};
use crate::prepared::Prepared;
use crate::spec::{BodySpec, IoChoice, RunSpec};
use crate::target::Url;
use crate::trials::prove_client;
use crate::trials::selfcheck::{self, NoiseFloor};
use crate::watchdog::OnStuck;

/// Carries out runs, one at a time.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    commit: Option<String>,
    on_stuck: OnStuck,
}

impl Runner {
    /// Returns a runner.
    pub fn new() -> Runner {
        Runner::default()
    }

    /// Sets the commit of the program, for the document's environment.
    pub fn commit(mut self, commit: &str) -> Runner {
        self.commit = Some(commit.to_owned()).filter(|commit| !commit.is_empty());
        self
    }

    /// Sets the function that is called, from another thread, if a call of the script outside the
    /// load never returns. Nothing can interrupt such a call; the function may end the process.
    pub fn on_stuck_script(
        mut self,
        call: impl Fn(&ScriptError) + Send + Sync + 'static,
    ) -> Runner {
        self.on_stuck = OnStuck(Arc::new(call));
        self
    }

    /// Carries out a run: plan, preflight, load, document.
    ///
    /// # Errors
    /// When the run cannot be carried out, or ends before anything was measured.
    pub fn run(&self, spec: &RunSpec, observer: &mut dyn Observer) -> Result<Finished, Error> {
        self.prepare(spec, observer)?.run(&Interrupts::default(), None, observer)
    }

    /// Plans a run: resolves the target, reads the files, and loads and sets up the script. Nothing
    /// is sent.
    ///
    /// # Errors
    /// When the specification cannot be carried out.
    pub fn prepare(&self, spec: &RunSpec, observer: &mut dyn Observer) -> Result<Prepared, Error> {
        let planned = plan(spec, &self.on_stuck, observer)?;
        if spec.checks.prove_client {
            prove_client::is_provable(spec, &planned.job.plan)?;
        }
        Ok(Prepared::new(spec.clone(), planned, self.commit.clone()))
    }

    /// Plans a run without reading a file or resolving the URL's host. The plan lacks the script,
    /// the body and the certificates that are read from files, and its engine is epoll.
    ///
    /// # Errors
    /// When the specification cannot be carried out.
    pub fn dry_run(spec: &RunSpec) -> Result<Plan, Error> {
        let mut spec = spec.clone();
        spec.script = None;
        spec.tls.ca_file = None;
        spec.request.body = match spec.request.body.take() {
            Some(BodySpec::File(_)) => None,
            body => body,
        };
        // `Auto` would probe the kernel for io_uring.
        spec.engine.io = IoChoice::Epoll;
        let url = Url::of(&spec.target)?;
        let address = Endpoint::Tcp(([127, 0, 0, 1], url.port()).into());
        let planned = plan_at(&spec, &url, &OnStuck::default(), |_| Ok(address))?;
        Ok(planned.job.plan)
    }

    /// Measures the noise floor of the specified client, without a target. `None` if a
    /// signal arrived.
    ///
    /// # Errors
    /// When the server within weir cannot be started, or the run fails.
    pub fn noise_floor(
        spec: &RunSpec,
        interrupts: &Interrupts,
    ) -> Result<Option<NoiseFloor>, Error> {
        // Nothing is ever sent there.
        let nowhere = Endpoint::Tcp(([127, 0, 0, 1], 9).into());
        let url = Url::of(&spec.target)?;
        let job = plan_at(spec, &url, &OnStuck::default(), |_| Ok(nowhere))?.job;
        let floor = selfcheck::measure(&job, interrupts)?;
        Ok(floor.map(|section| NoiseFloor { section, io: job.plan.io }))
    }
}
