//! The runner of this machine.

use weir_result::Plan;

use crate::access::MachineAccess;
use crate::after::prove_client;
use crate::before::preflight::reflection;
use crate::before::selfcheck::{self, NoiseFloor};
use crate::before::walk::TracedStep;
use crate::errors::Error;
use crate::finished::Finished;
use crate::interrupts::Interrupts;
use crate::local_run::LocalRun;
use crate::observer::{Observer, Silent};
use crate::prepare::redaction::Redaction;
use crate::prepare::watchdog::OnStuck;
use crate::prepare::{self, Means};
use crate::runner::{PreparedRun, Runner};
use crate::spec::RunSpec;
use crate::start_gate::StartGate;

/// Carries out runs on this machine.
#[derive(Clone, Debug, Default)]
pub struct LocalRunner {
    /// Commit of the program, for the document's environment, if it is known.
    pub commit: Option<String>,
    /// Function that is called, from another thread, if a call of the script outside the load never
    /// returns. Nothing can interrupt such a call; the function may end the process.
    pub on_stuck: OnStuck,
    /// Gate at which the next run waits before its load; none if it begins by itself.
    pub gate: Option<StartGate>,
    /// Access of the runs to this machine.
    pub access: MachineAccess,
}

impl LocalRunner {
    /// Carries out a run: plan, preflight, load, document.
    ///
    /// # Errors
    /// When the run cannot be carried out, or ends before anything was measured.
    pub fn run(&self, spec: &RunSpec, observer: &mut dyn Observer) -> Result<Finished, Error> {
        Box::new(self.plan(spec, observer)?).run(&Interrupts::default(), None, observer)
    }

    /// Sends the request of a run once, and nothing else: that of a row of its list, from 1, if one
    /// is given. Of a run with users, one of them takes its steps: the first one, or that with the
    /// number `row`. Returns the exchanges, without secrets.
    ///
    /// # Errors
    /// When the run cannot be planned, or no request can be sent.
    pub fn debug(
        &self,
        spec: &RunSpec,
        row: Option<u64>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TracedStep>, Error> {
        self.plan(spec, observer)?.debug(row, observer).map_err(|error| shown(spec, error))
    }

    /// Plans a run: resolves the target, reads the files, and loads and sets up the script. If the
    /// target has several addresses, it connects to each. Nothing is sent.
    fn plan(&self, spec: &RunSpec, observer: &mut dyn Observer) -> Result<LocalRun, Error> {
        self.planned(spec, observer).map_err(|error| shown(spec, error))
    }

    /// Plans a run. An error may have a secret in its text.
    fn planned(&self, spec: &RunSpec, observer: &mut dyn Observer) -> Result<LocalRun, Error> {
        let means = Means {
            access: &self.access,
            on_stuck: &self.on_stuck,
            load_schema: &|peer, method| reflection::load(spec, peer, method).map(Some),
        };
        let planned = prepare::prepare(spec, &means, observer)?;
        if spec.checks.prove_client {
            prove_client::is_provable(spec, &planned.load.plan)?;
        }
        let commit = self.commit.clone();
        let gate = self.gate.clone();
        Ok(LocalRun { spec: spec.clone(), planned, commit, gate })
    }

    /// Plans a run without reading a file or resolving the URL's host. The plan lacks the script,
    /// the list, the body and the certificates that are read from files, and its engine is epoll.
    ///
    /// # Errors
    /// When the specification cannot be carried out.
    pub fn dry_run(spec: &RunSpec) -> Result<Plan, Error> {
        prepare::dry_run(spec).map_err(|error| shown(spec, error.into()))
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
        let planned = prepare::client(spec).map_err(|error| shown(spec, error.into()));
        let (plan, cpus) = planned?;
        let floor = selfcheck::measure(&plan, &cpus, interrupts)?;
        let io = plan.io;
        let advice = selfcheck::trust;
        Ok(floor.map(|section| NoiseFloor { section, io, advice: advice(&section) }))
    }
}

impl Runner for LocalRunner {
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error> {
        Ok(Box::new(self.plan(spec, observer)?))
    }

    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        let measured = self.plan(spec, &mut Silent)?.idle_latency(interrupts);
        measured.map_err(|error| shown(spec, error))
    }
}

/// Returns an error without the secrets of a specification, whose texts it may repeat.
fn shown(spec: &RunSpec, error: Error) -> Error {
    Redaction::of(spec).error(error)
}

#[cfg(test)]
mod tests {
    use weir_io::{Engine, EngineChoice};
    use weir_result::{Load, Warmup};
    use weir_serve::ServeOptions;

    use super::*;
    use crate::frame::Frame;
    use crate::spec::{BodySpec, EngineSpec, GrpcSpec, InputFile};

    /// A short load on `url`.
    fn short(url: &str, duration_ns: Option<u64>) -> RunSpec {
        RunSpec {
            load: Load {
                connections: 1.into(),
                warmup: Warmup::default(),
                duration_ns,
                requests: Some(20).filter(|_| duration_ns.is_none()),
                ..Load::default()
            },
            engine: EngineSpec { io: EngineChoice::Only(Engine::Epoll), ..EngineSpec::default() },
            ..RunSpec::new(url)
        }
    }

    #[test]
    fn a_specification_that_was_written_and_read_runs_the_same_plan() {
        let server = weir_serve::spawn(ServeOptions::default()).expect("a server");
        let mut spec = short(&format!("http://{}/?a=b", server.endpoint()), None);
        let body = InputFile { content: Some(b"abc".to_vec()), ..InputFile::at("body") };
        spec.request.body = Some(BodySpec::File(body));
        spec.request.basic_auth = Some("me:SECRET".to_owned());
        let text = serde_json::to_string(&spec).expect("UTF-8");
        let read = RunSpec::from_json(text.as_bytes()).expect("its JSON");
        let run =
            |spec| LocalRunner::default().run(spec, &mut Silent).expect("a server").document.run;
        let one = run(&spec);
        let other = run(&read);
        assert!(one.plan_sha256.as_ref().is_some_and(|digest| digest.len() == 64), "{one:?}");
        assert_eq!((&one.plan_sha256, &one.inputs), (&other.plan_sha256, &other.inputs));
        assert_eq!(one.inputs.first().map(|input| input.bytes), Some(3));
        let mut elsewhere = read;
        elsewhere.request.basic_auth = Some("me:ANOTHER SECRET".to_owned());
        let digest =
            LocalRunner::default().prepare(&elsewhere, &mut Silent).expect("valid").plan_sha256();
        assert_eq!(Some(digest), one.plan_sha256, "a digest covers no secret");
        let error =
            LocalRunner::default().run(&spec.redacted(), &mut Silent).expect_err("no secrets");
        assert!(error.to_string().contains("values of request.basic_auth"), "{error}");
    }

    #[test]
    fn a_coordinator_resolves_no_name_of_its_agents() {
        let mut spec = short("http://no.such.host.invalid:81/", None);
        let plan = |spec: &RunSpec, are_here| {
            let access = MachineAccess::ByAgents { are_here };
            let runner = LocalRunner { access, ..LocalRunner::default() };
            runner.prepare(spec, &mut Silent).map(|run| run.plan().target.clone())
        };
        let target = plan(&spec, false).expect("agents resolve it");
        assert_eq!((&*target.host, &*target.address), ("no.such.host.invalid", "192.0.2.1:81"));
        let error = plan(&spec, true).expect_err("agents on this machine do not either");
        assert!(error.to_string().contains("cannot be resolved"), "{error}");
        spec.connection.destinations = vec!["other.host.invalid".to_owned()];
        spec.grpc = Some(GrpcSpec { method: "a.B/C".to_owned(), ..GrpcSpec::default() });
        plan(&spec, false).expect("agents connect to it, and read its schema");
        spec = short("http://127.0.0.9:81/", None);
        assert_eq!(plan(&spec, false).expect("an address").address, "127.0.0.9:81");
    }

    /// Keeps the frames, and the names and nice values of the threads on which they came.
    #[derive(Default)]
    struct Frames(Vec<Frame>, Vec<(String, String)>);

    impl Observer for Frames {
        fn is_live(&self) -> bool {
            true
        }

        fn frame(&mut self, _plan: &Plan, frame: &Frame) {
            self.0.push(frame.clone());
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux has it");
            // proc(5): the nice value is the 19th field; the 2nd ends with the last parenthesis.
            let nice = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(16));
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            self.1.push((name, nice.unwrap_or_default().to_owned()));
        }
    }

    #[test]
    fn a_live_observer_gets_frames_within_the_first_second() {
        let server = weir_serve::spawn(ServeOptions::default()).expect("a server");
        let mut frames = Frames::default();
        let spec = short(&format!("http://{}/", server.endpoint()), Some(900_000_000));
        LocalRunner::default().run(&spec, &mut frames).expect("a server");
        let seen =
            frames.0.iter().any(|frame| frame.ended.completed > 0 && frame.latency.count() > 0);
        assert!(seen, "{frames:?}", frames = frames.0);
        let is_aside = |(name, nice): &(String, String)| name == "weir-live" && nice == "10";
        assert!(frames.1.iter().all(is_aside), "no worker does it: {:?}", frames.1);
    }
}
