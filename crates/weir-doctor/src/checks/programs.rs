//! Threads of the kernel and of other programs that keep a CPU for long at a time. A thread of weir
//! on the same CPU waits until they leave it; one of the kernel often cannot be preempted.

use weir_machine::{SchedStat, Unreadable, cpu_list};
use weir_text::units;

use crate::check::{Examined, Outcome};
use crate::sample::Reading;
use crate::subject::ExaminedSystem;

/// Mean time slice from which single requests are visibly late.
const WARNING_NS: u64 = 1_000_000;

/// Mean time slice from which the tail of the latency is this machine's.
const PROBLEM_NS: u64 = 10_000_000;

/// Share of a CPU during the sample from which a thread is named.
const SHARE_NOW: f64 = 0.01;

/// Share of a CPU since boot from which a thread of the kernel is named. Many of them work now and
/// then, and seldom during the sample.
const SHARE_SINCE_BOOT: f64 = 0.001;

/// Maximum threads of the kernel, and of programs, that are named.
const NAMED_MAX: usize = 3;

const UPTIME: &str = "proc/uptime";

/// Spans that times on a CPU are compared with.
struct Spans {
    /// Length of the sample.
    now_ns: f64,
    /// Time since boot.
    boot_ns: f64,
}

/// A thread with long time slices.
struct Holder {
    process: u32,
    id: u32,
    name: String,
    is_kernel: bool,
    slice_ns: u64,
    /// Share of one CPU.
    share: f64,
    is_now: bool,
}

pub(super) fn long_slices(subject: &ExaminedSystem<'_>) -> Examined {
    let before = &subject.sample.before;
    let after = &subject.sample.after;
    let boot_ns = uptime_ns(after)?;
    let spans = Spans { now_ns: boot_ns - uptime_ns(before)?, boot_ns };
    if spans.now_ns <= 0.0 {
        return Err(Unreadable(format!("/{UPTIME} did not advance")));
    }
    if after.threads.values().all(|times| times.slices == 0) {
        return Err(Unreadable("no time slices are counted here (/proc/PID/schedstat)".to_owned()));
    }
    let others = after.threads.keys().filter(|(process, _)| *process != subject.facts.process_id);
    let mut holders: Vec<Holder> =
        others.filter_map(|&(process, id)| holder(subject, &spans, process, id)).collect();
    // By the wait that each adds to a wake-up on its CPU.
    let wait = |holder: &Holder| holder.slice_ns as f64 * holder.share;
    holders.sort_by(|a, b| wait(b).total_cmp(&wait(a)));
    Ok(Some(match holders.is_empty() {
        true => Outcome::ok(nothing(after)),
        false => outcome(subject, &holders),
    }))
}

/// Returns a thread if its time slices are long: now or, in the kernel, since boot.
fn holder(subject: &ExaminedSystem<'_>, spans: &Spans, process: u32, id: u32) -> Option<Holder> {
    let before = &subject.sample.before;
    let after = &subject.sample.after;
    let found = after.processes.get(&process)?;
    let since_boot = *after.threads.get(&(process, id))?;
    let now = since_boot.since(before.threads.get(&(process, id)).copied().unwrap_or_default());
    let share = |times: SchedStat, span_ns: f64| {
        let is_long = times.mean_slice_ns() >= WARNING_NS;
        is_long.then_some(times.ran_ns as f64 / span_ns)
    };
    let share_now = share(now, spans.now_ns).filter(|share| *share >= SHARE_NOW);
    let share_since_boot = share(since_boot, spans.boot_ns)
        .filter(|share| found.is_kernel && *share >= SHARE_SINCE_BOOT);
    let is_now = share_now.is_some();
    Some(Holder {
        process,
        id,
        name: name(subject, process, id, &found.name),
        is_kernel: found.is_kernel,
        slice_ns: if is_now { now } else { since_boot }.mean_slice_ns(),
        share: share_now.or(share_since_boot)?,
        is_now,
    })
}

/// Evidence that no thread has long time slices.
fn nothing(after: &Reading) -> String {
    let sees_kernel = after.processes.values().any(|process| process.is_kernel);
    let unseen = if sees_kernel { "" } else { "; threads of the kernel are not visible here" };
    let limit = units::short_duration(WARNING_NS);
    format!("no other thread runs {limit} at a time, on average{unseen}")
}

fn outcome(subject: &ExaminedSystem<'_>, holders: &[Holder]) -> Outcome {
    let (mut kernel, mut programs): (Vec<&Holder>, Vec<&Holder>) =
        holders.iter().partition(|holder| holder.is_kernel);
    // Both kinds are named: they have other remedies.
    kernel.truncate(NAMED_MAX);
    programs.truncate(NAMED_MAX);
    let named: Vec<&Holder> = kernel.iter().chain(&programs).copied().collect();
    let list: Vec<String> = named.iter().map(|holder| holder.in_words()).collect();
    let more = match holders.len() - named.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let evidence = format!("mean time slices: {}{more}", list.join(", "));
    let longest = named.iter().map(|holder| holder.slice_ns).max().unwrap_or_default();
    let effect = format!(
        "a thread of weir on such a CPU waits until the slice ends: single requests look about {} \
         slower, above all in p99 and beyond",
        units::short_duration(longest)
    );
    let outcome = Outcome::judged(longest >= PROBLEM_NS, true, evidence, effect);
    let mut remedies: Vec<(bool, String)> =
        kernel.iter().map(|holder| kernel_remedy(subject, holder)).collect();
    if !programs.is_empty() {
        let ids: Vec<String> = programs.iter().map(|holder| holder.id.to_string()).collect();
        remedies.push((true, format!("sudo renice -n 19 -p {}", ids.join(" "))));
    }
    match &remedies[..] {
        [(true, command)] => outcome.command(command),
        _ => {
            let texts: Vec<&str> = remedies.iter().map(|(_, text)| text.as_str()).collect();
            outcome.advice(texts.join("; "))
        }
    }
}

/// Returns what keeps a thread of the kernel from delaying weir, and whether it is a command.
fn kernel_remedy(subject: &ExaminedSystem<'_>, holder: &Holder) -> (bool, String) {
    const DAMON: &str = "sys/kernel/mm/damon/admin/kdamonds";
    let id = holder.id;
    let is_its = |number: &&String| {
        subject.root.number(&format!("{DAMON}/{number}/pid")).is_ok_and(|pid| pid == u64::from(id))
    };
    if let Some(number) = subject.root.names(DAMON).iter().find(is_its) {
        return (true, format!("echo off | sudo tee /{DAMON}/{number}/state"));
    }
    if holder.name == "ksmd" {
        return (true, "echo 0 | sudo tee /sys/kernel/mm/ksm/run".to_owned());
    }
    let advice = match subject.facts.usable_cpus.as_deref() {
        Ok([theirs, ours @ ..]) if !ours.is_empty() => {
            let ours = cpu_list::format(ours);
            format!(
                "keep weir off its CPU: sudo taskset -pc {theirs} {id}, then weir --pin={ours} URL"
            )
        }
        _ => format!("find what makes {} work, or use another machine", holder.title()),
    };
    (false, advice)
}

impl Holder {
    /// The name, in brackets for a thread of the kernel, as in ps(1).
    fn title(&self) -> String {
        match self.is_kernel {
            true => format!("[{}] ({})", self.name, self.id),
            false if self.id == self.process => format!("{} ({})", self.name, self.id),
            false => format!("{} (thread {} of {})", self.name, self.id, self.process),
        }
    }

    fn in_words(&self) -> String {
        let slice = units::short_duration(self.slice_ns);
        let share = units::short_percent((self.share * 1e4).round() / 1e4);
        let when = if self.is_now { "" } else { " since boot" };
        format!("{} {slice} ({share} of a CPU{when})", self.title())
    }
}

/// Returns the name of a thread. One that has ended has its process's.
fn name(subject: &ExaminedSystem<'_>, process: u32, id: u32, fallback: &str) -> String {
    let comm = subject.root.text(&format!("proc/{process}/task/{id}/comm"));
    comm.unwrap_or_else(|_| fallback.to_owned())
}

/// Returns the time since boot, in nanoseconds.
fn uptime_ns(reading: &Reading) -> Result<f64, Unreadable> {
    let text = reading.uptime.as_ref().map_err(Unreadable::clone)?;
    let seconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    seconds.map(|seconds| seconds * 1e9).ok_or_else(|| Unreadable::form(UPTIME))
}

/// Share of the usable CPUs from which other programs delay requests now and then.
const WARNING_SHARE: f64 = 0.05;

/// Share from which a thread of weir often waits for a CPU.
const PROBLEM_SHARE: f64 = 0.25;

/// Share of one CPU from which a process is named.
const NAMED_SHARE: f64 = 0.05;

/// A process and its share of one CPU.
struct Neighbour<'a> {
    id: u32,
    name: &'a str,
    share: f64,
}

pub(super) fn busy_cpus(subject: &ExaminedSystem<'_>) -> Examined {
    let cpus = subject.usable_cpus()?;
    let before = &subject.sample.before;
    let after = &subject.sample.after;
    let (ticks_before, ticks_after) = subject.sample.cpu_ticks(cpus)?;
    let spent = ticks_after.since(ticks_before);
    if spent.total == 0 {
        return Err(Unreadable("/proc/stat did not advance".to_owned()));
    }
    let per_cpu = spent.total as f64 / cpus.len() as f64;
    let used = |id: &u32| {
        let earlier = before.processes.get(id).map_or(0, |process| process.ticks);
        let now = after.processes.get(id).map_or(0, |process| process.ticks);
        now.saturating_sub(earlier) as f64
    };
    let own = used(&subject.facts.process_id);
    let busy = (spent.total - spent.idle.min(spent.total)).saturating_sub(spent.stolen) as f64;
    let share = (busy - own).max(0.0) / spent.total as f64;
    let mut neighbours: Vec<Neighbour<'_>> = after
        .processes
        .iter()
        .filter(|(id, _)| **id != subject.facts.process_id)
        .map(|(id, process)| Neighbour { id: *id, name: &process.name, share: used(id) / per_cpu })
        .filter(|neighbour| neighbour.share >= NAMED_SHARE)
        .collect();
    neighbours.sort_by(|a, b| b.share.total_cmp(&a.share));
    neighbours.truncate(NAMED_MAX);
    Ok(Some(busy_outcome(share, cpus.len(), &neighbours)))
}

fn busy_outcome(share: f64, cpus: usize, neighbours: &[Neighbour<'_>]) -> Outcome {
    let used = format!("other programs use {:.1} of {cpus} CPUs", share * cpus as f64);
    if share < WARNING_SHARE {
        return Outcome::ok(used);
    }
    let effect = "requests wait for a CPU: stop them or lower their priority";
    let harm = |evidence: String| Outcome::judged(share >= PROBLEM_SHARE, true, evidence, effect);
    if neighbours.is_empty() {
        let evidence = format!("{used}; none is visible here, or none runs for long");
        return harm(evidence).advice("stop other containers and programs, or use another machine");
    }
    let names: Vec<String> = neighbours
        .iter()
        .map(|Neighbour { id, name, share }| {
            format!("{name} ({id}) {}", units::short_percent((share * 100.0).round() / 100.0))
        })
        .collect();
    let ids: Vec<String> = neighbours.iter().map(|neighbour| neighbour.id.to_string()).collect();
    harm(format!("{used}: {}", names.join(", ")))
        .command(format!("sudo renice -n 19 -p {}", ids.join(" ")))
}
