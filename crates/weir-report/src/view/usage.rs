//! CPU time, memory and calls of the script; in a verbose report also of the program, the machine
//! and each worker.

use weir_result::document::{Phases, ScriptSection};
use weir_result::{Document, Environment, Wait, WorkerUsage};
use weir_text::setting::WAIT;
use weir_text::units;

use super::{Block, Fact, Line};

pub(super) fn blocks(document: &Document, verbose: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(usage) = &document.script {
        blocks.push(script(usage, load_time_ns(&document.phases)));
    }
    if verbose {
        blocks.extend(client(document));
        blocks.extend(machines(document));
        blocks.extend(document.phases.iter().map(worker));
    }
    blocks
}

/// The script's calls by callback; a share is one of the time in which the workers' load ran.
fn script(script: &ScriptSection, load_time_ns: u64) -> Block {
    let mut facts: Vec<Fact> = script.file.iter().map(Fact::text).collect();
    facts.push(Fact::counted(script.states.into(), "state"));
    facts.push(Fact::named("up to", units::bytes(script.memory_max_bytes)).then(" each"));
    let errors = [("not ready in time", script.ran_dry), ("bodies cut", script.bodies_cut)];
    facts.extend(Fact::errors(errors));
    let mut lines = vec![Line::facts(facts)];
    for (callback, usage) in &script.callbacks {
        let Some(mean_ns) = usage.time_ns.checked_div(usage.calls) else {
            continue;
        };
        let calls = Fact::counted(usage.calls, "call").text;
        let mut facts = vec![
            Fact::named(&format!("{}()", callback.name()), calls),
            Fact::named("mean", units::duration(mean_ns)),
            Fact::named("max", units::duration(usage.longest_ns)),
        ];
        if load_time_ns > 0 {
            let share = units::percent(usage.time_ns as f64 / load_time_ns as f64);
            facts.push(Fact::named(&share, "of time"));
        }
        lines.push(Line::facts(facts));
    }
    Block::entry("Script", lines)
}

/// Time in which the load ran, warm-up and tail included, summed over the workers, in nanoseconds.
fn load_time_ns(phases: &[Phases]) -> u64 {
    let spans = phases.iter().map(|phases| phases.tail_end_ns.saturating_sub(phases.start_ns));
    spans.fold(0, u64::saturating_add)
}

/// CPU time and memory of this program.
fn client(document: &Document) -> Option<Block> {
    let usage = &document.run.client;
    let cpu_ns = usage.cpu_user_ns.saturating_add(usage.cpu_system_ns);
    let mut facts = Vec::new();
    if cpu_ns > 0 {
        facts.push(Fact::named("CPU time", units::duration(cpu_ns)));
        facts.push(Fact::named("user", units::duration(usage.cpu_user_ns)));
        facts.push(Fact::named("memory", units::bytes(usage.max_resident_bytes)));
    }
    let sum = |of: fn(&WorkerUsage) -> u64| document.phases.iter().map(|p| of(&p.usage)).sum();
    let wakes: u64 = sum(|usage| usage.wakes);
    let events: u64 = sum(|usage| usage.events);
    if wakes > 0 {
        let each = events as f64 / wakes as f64;
        facts.push(Fact::text(format!("{each:.1} events per wake-up{}", wait(document))));
    }
    (!facts.is_empty()).then(|| Block::facts("Client", facts))
}

/// The receive strategy, if the user chose one.
fn wait(document: &Document) -> String {
    match document.plan.wait {
        Wait::Auto => String::new(),
        Wait::Latency => format!(" ({WAIT} latency)"),
        Wait::Throughput => format!(" ({WAIT} throughput)"),
        Wait::Spin => format!(" ({WAIT} spin)"),
    }
}

/// The machine, or each part's machine with the part's grade.
fn machines(document: &Document) -> Vec<Block> {
    if document.parts.is_empty() {
        let facts = machine(&document.environment);
        return if facts.is_empty() { Vec::new() } else { vec![Block::facts("Machine", facts)] };
    }
    let parts = document.parts.iter().map(|section| {
        let mut facts = vec![Fact::text(section.verdict.grade.in_words())];
        facts.extend(section.environment.hostname.as_ref().map(Fact::text));
        facts.extend(machine(&section.environment));
        Block::facts(&format!("Part {}", section.part.index()), facts)
    });
    parts.collect()
}

fn machine(environment: &Environment) -> Vec<Fact> {
    let texts = [&environment.os, &environment.kernel, &environment.cpu_model];
    let mut facts: Vec<Fact> = texts.into_iter().flatten().map(Fact::text).collect();
    facts.extend(environment.cpus_usable.map(|n| Fact::counted(n.into(), "CPU")));
    let named = [
        ("governor", &environment.cpu_governor),
        ("clock", &environment.clock_source),
        ("congestion control", &environment.congestion_control),
    ];
    let named = named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    facts.extend(named.map(|(name, value)| Fact::named(name, value)));
    facts
}

fn worker(phases: &Phases) -> Block {
    let span = |from: u64, to: u64| units::duration(to.saturating_sub(from));
    let life_ns = phases.drained_ns.saturating_sub(phases.connect_ns);
    let busy = if life_ns == 0 { 0.0 } else { phases.cpu_time_ns as f64 / life_ns as f64 };
    let mut facts = vec![
        Fact::counted(phases.connections.into(), "connection"),
        Fact::named("connected in", span(phases.connect_ns, phases.connected_ns)),
        Fact::named("window", span(phases.t0_ns, phases.t1_ns)),
        Fact::named("tail", span(phases.t1_ns, phases.tail_end_ns)),
        Fact::named("busy", units::percent(busy)),
    ];
    facts.extend(phases.cpu.map(|cpu| Fact::named("CPU", cpu)));
    Block::facts(&format!("Worker {}", phases.worker), facts)
}
