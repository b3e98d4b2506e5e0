//! The runner of an agent's parts: that of its machine, which `weir doctor` examines meanwhile.

use std::sync::Arc;
use std::time::Duration;

use weir_doctor::{Diagnosis, ExaminedSystem, Facts, Finding, Sample, Severity};
use weir_machine::Root;
use weir_result::Note;
use weir_runner::{
    Error, Interrupts, LocalRunner, Observer, PreparedRun, RunSpec, Runner, StartGate,
};

/// Makes the runner of a part, whose run waits at a gate before its load.
pub type RunnerAtGate = Arc<dyn Fn(StartGate) -> Box<dyn Runner> + Send + Sync>;

/// Time for which other programs are observed: a run does not wait longer for an agent.
const EXAMINED_FOR: Duration = Duration::from_millis(250);

/// Returns the runner of an agent on this machine.
pub fn on_this_machine(agent: impl Into<String>, local: LocalRunner) -> RunnerAtGate {
    let agent = agent.into();
    Arc::new(move |gate| {
        let local = LocalRunner { gate: Some(gate), ..local.clone() };
        Box::new(ExaminingRunner { agent: agent.clone(), local })
    })
}

/// Notes the problems of the machine in each document.
struct ExaminingRunner {
    agent: String,
    local: LocalRunner,
}

impl Runner for ExaminingRunner {
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error> {
        let mut prepared = self.local.prepare(spec, observer)?;
        problems(&self.agent).into_iter().for_each(|note| prepared.add_note(note));
        Ok(prepared)
    }

    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        self.local.idle_latency(spec, interrupts)
    }
}

/// Makes the checks of `weir doctor` for a moment, and returns the problems of an agent's machine:
/// the numbers of one that has any will be wrong.
fn problems(agent: &str) -> Vec<Note> {
    let root = Root::machine();
    let facts = Facts::gather(None);
    let sample = Sample::over(&root, EXAMINED_FOR);
    let subject = ExaminedSystem { root: &root, facts: &facts, sample: &sample, target: None };
    let diagnosis = Diagnosis::of(&subject);
    let text = |finding: &Finding| {
        format!("agent {agent}, by weir doctor: {}: {}", finding.title, finding.evidence)
    };
    let note = |finding| Note::new("machine_problem", text(finding));
    diagnosis.of_severity(Severity::Problem).map(note).collect()
}
