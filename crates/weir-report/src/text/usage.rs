//! CPU time, memory and calls of the script; in a verbose report also of the program, the machine
//! and each worker.

use weir_result::document::{Phases, ScriptSection};
use weir_result::{Document, Wait, WorkerUsage, units};

use super::head::counted;
use super::page::{INDENT, Page, Span, label};

pub(super) fn write(document: &Document, verbose: bool, page: &mut Page) {
    if let Some(script) = &document.script {
        of_script(script, load_time_ns(&document.phases), page);
    }
    if verbose {
        client(document, page);
        machine(document, page);
        document.phases.iter().for_each(|phases| worker(phases, page));
    }
}

/// Writes the script's calls by callback; a share is one of the time in which the workers' load
/// ran.
fn of_script(script: &ScriptSection, load_time_ns: u64, page: &mut Page) {
    let mut items: Vec<Span> = script.file.iter().map(Span::plain).collect();
    items.push(Span::plain(counted(script.states.into(), "state")));
    items.push(Span::plain(format!("up to {} each", units::bytes(script.memory_max_bytes))));
    if script.ran_dry > 0 {
        items.push(Span::error("not ready in time", script.ran_dry));
    }
    if script.bodies_cut > 0 {
        items.push(Span::error("bodies cut", script.bodies_cut));
    }
    page.items(label("Script"), INDENT, items);
    for (callback, usage) in &script.callbacks {
        let Some(mean_ns) = usage.time_ns.checked_div(usage.calls) else {
            continue;
        };
        let mut items = vec![
            Span::plain(format!("{}() {}", callback.name(), counted(usage.calls, "call"))),
            Span::plain(format!("mean {}", units::duration(mean_ns))),
            Span::plain(format!("max {}", units::duration(usage.longest_ns))),
        ];
        if load_time_ns > 0 {
            let share = units::percent(usage.time_ns as f64 / load_time_ns as f64);
            items.push(Span::plain(format!("{share} of time")));
        }
        page.items(Span::plain(""), INDENT, items);
    }
}

/// Time in which the load ran, warm-up and tail included, summed over the workers, in nanoseconds.
fn load_time_ns(phases: &[Phases]) -> u64 {
    let spans = phases.iter().map(|phases| phases.tail_end_ns.saturating_sub(phases.start_ns));
    spans.fold(0, u64::saturating_add)
}

/// Writes CPU time and memory of this program.
fn client(document: &Document, page: &mut Page) {
    let usage = &document.run.client;
    let cpu_ns = usage.cpu_user_ns.saturating_add(usage.cpu_system_ns);
    let mut items = Vec::new();
    if cpu_ns > 0 {
        items.push(Span::plain(format!("CPU time {}", units::duration(cpu_ns))));
        items.push(Span::plain(format!("user {}", units::duration(usage.cpu_user_ns))));
        items.push(Span::plain(format!("memory {}", units::bytes(usage.max_resident_bytes))));
    }
    let sum = |of: fn(&WorkerUsage) -> u64| document.phases.iter().map(|p| of(&p.usage)).sum();
    let (wakes, events): (u64, u64) = (sum(|usage| usage.wakes), sum(|usage| usage.events));
    if wakes > 0 {
        let each = events as f64 / wakes as f64;
        items.push(Span::plain(format!("{each:.1} events per wake-up{}", wait(document))));
    }
    if !items.is_empty() {
        page.items(label("Client"), INDENT, items);
    }
}

/// The receive strategy, if the user chose one.
fn wait(document: &Document) -> &'static str {
    match document.plan.wait {
        Wait::Auto => "",
        Wait::Latency => " (--wait latency)",
        Wait::Throughput => " (--wait throughput)",
        Wait::Spin => " (--wait spin)",
    }
}

/// CPU time of a worker as a share of its lifetime.
fn busy_share(phases: &Phases) -> f64 {
    let life_ns = phases.drained_ns.saturating_sub(phases.connect_ns);
    if life_ns == 0 { 0.0 } else { phases.cpu_time_ns as f64 / life_ns as f64 }
}

fn machine(document: &Document, page: &mut Page) {
    let environment = &document.environment;
    let mut items: Vec<Span> = Vec::new();
    let texts = [&environment.os, &environment.kernel, &environment.cpu_model];
    items.extend(texts.into_iter().flatten().map(Span::plain));
    items.extend(environment.cpus_usable.map(|n| Span::plain(counted(n.into(), "CPU"))));
    let named = [
        ("governor", &environment.cpu_governor),
        ("clock", &environment.clock_source),
        ("congestion control", &environment.congestion_control),
    ];
    for (name, value) in named {
        items.extend(value.as_ref().map(|value| Span::plain(format!("{name} {value}"))));
    }
    if !items.is_empty() {
        page.items(label("Machine"), INDENT, items);
    }
}

fn worker(phases: &Phases, page: &mut Page) {
    let span = |from: u64, to: u64| units::duration(to.saturating_sub(from));
    let mut items = vec![
        Span::plain(counted(phases.connections.into(), "connection")),
        Span::plain(format!("connected in {}", span(phases.connect_ns, phases.connected_ns))),
        Span::plain(format!("window {}", span(phases.t0_ns, phases.t1_ns))),
        Span::plain(format!("tail {}", span(phases.t1_ns, phases.tail_end_ns))),
        Span::plain(format!("busy {}", units::percent(busy_share(phases)))),
    ];
    items.extend(phases.cpu.map(|cpu| Span::plain(format!("CPU {cpu}"))));
    page.items(label(&format!("Worker {}", phases.worker)), INDENT, items);
}
