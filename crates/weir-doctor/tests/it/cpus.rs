//! Checks of the CPUs: neighbours, steal, quota, affinity, siblings, frequency.

use std::path::Path;
use std::time::Duration;

use weir_doctor::Severity::{Problem, Warning};
use weir_doctor::{Diagnosis, ExaminedSystem, Facts, Sample};
use weir_machine::Root;

use crate::machine::{Directory, Machine, OWN, unreadable};

/// Four CPUs after 100 ticks in which two were busy.
const TWO_BUSY: [[u64; 8]; 4] = [
    [200, 0, 50, 10_000, 0, 0, 0, 0],
    [200, 0, 50, 10_000, 0, 0, 0, 0],
    [100, 0, 50, 10_100, 0, 0, 0, 0],
    [100, 0, 50, 10_100, 0, 0, 0, 0],
];

#[test]
fn busy_neighbours_are_named() {
    let machine = Machine::healthy();
    machine.check_ok("busy-neighbours", "other programs use 0.0 of 4 CPUs");
    let busy = machine
        .clone()
        .stat_later(TWO_BUSY)
        .process(7, "old) (name", 50)
        .process_later(7, "old) (name", 150)
        .process_later(8, "new", 90);
    let evidence = "other programs use 2.0 of 4 CPUs: old) (name (7) 100%, new (8) 90%";
    busy.check("busy-neighbours", Problem, evidence, "sudo renice -n 19 -p 7 8");
    let advice = "stop other containers and programs, or use another machine";
    machine.clone().stat_later(TWO_BUSY).check(
        "busy-neighbours",
        Problem,
        "none is visible",
        advice,
    );
    // The doctor's own work is no neighbour's.
    let own = machine.clone().stat_later(TWO_BUSY).process_later(OWN, "weir", 210);
    own.check_ok("busy-neighbours", "0.0 of 4 CPUs");
    let some = [[125, 0, 50, 10_075, 0, 0, 0, 0]; 4];
    let lightly = [some[0], some[1], TWO_BUSY[2], TWO_BUSY[3]];
    let light = machine.clone().stat_later(lightly).process_later(9, "cron", 50);
    light.check("busy-neighbours", Warning, "cron (9) 50%", "sudo renice -n 19 -p 9");
    machine.clone().without("proc/stat").check_unknown("busy-neighbours", "/proc/stat does not");
    let garbled = machine.file("proc/stat", "cpu0 1 2\n");
    garbled.check_unknown("busy-neighbours", "/proc/stat has an unknown form");
}

#[test]
fn threads_with_long_time_slices_are_named() {
    let machine = Machine::healthy();
    machine.check_ok("long-slices", "no other thread runs 1 ms at a time");
    // Now and then, as a thread of the kernel works: 5 s of the 1,001 since boot.
    let lazy = machine.clone().kernel_thread(77, "kdamond.0", 5_005_000_000, 4_000);
    let evidence = "mean time slices: [kdamond.0] (77) 1.25 ms (0.5% of a CPU since boot)";
    let advice = "keep weir off its CPU: sudo taskset -pc 0 77, then weir --pin=1-3 URL";
    lazy.check("long-slices", Warning, evidence, advice);
    let damon = "sys/kernel/mm/damon/admin/kdamonds/0";
    let known = lazy.clone().file(&format!("{damon}/pid"), "77\n");
    let command = format!("echo off | sudo tee /{damon}/state");
    known.check("long-slices", Warning, evidence, &command);
    let one = lazy.clone().facts(|facts| facts.usable_cpus = Ok(vec![3]));
    let advice = "find what makes [kdamond.0] (77) work, or use another machine";
    one.check("long-slices", Warning, evidence, advice);
    let now = lazy.clone().slices_later(77, 77, 5_405_000_000, 4_010);
    let advice = "keep weir off its CPU: sudo taskset -pc 0 77, then weir --pin=1-3 URL";
    now.check("long-slices", Problem, "[kdamond.0] (77) 40 ms (40% of a CPU)", advice);
    // As long, but 0.01% of the time.
    let rare = machine.clone().kernel_thread(50, "irq/24-ACPI", 100_000_000, 50);
    rare.check_ok("long-slices", "no other thread");

    // A thread that holds its CPU for all of the sample begins no slice in it.
    let busy = machine
        .clone()
        .process(7, "make", 50)
        .slices(7, 7, 0, 5)
        .slices(7, 9, 2_000_000_000, 70)
        .slices_later(7, 9, 2_990_000_000, 70)
        .file("proc/7/task/9/comm", "cc1\n");
    let evidence = "cc1 (thread 9 of 7) 990 ms (99% of a CPU)";
    busy.check("long-slices", Problem, evidence, "sudo renice -n 19 -p 9");
    let command = format!("{command}; sudo renice -n 19 -p 9");
    let both = busy.file(&format!("{damon}/pid"), "77\n").kernel_thread(
        77,
        "kdamond.0",
        5_005_000_000,
        4_000,
    );
    both.check("long-slices", Problem, &format!("of a CPU since boot), {evidence}"), &command);
    // Programs are judged by the sample alone, and short slices do no harm.
    let idle = machine.clone().process(8, "cron", 50).slices(8, 8, 9_000_000_000, 9);
    idle.check_ok("long-slices", "no other thread");
    let short = idle.slices_later(8, 8, 9_990_000_000, 9_999);
    short.check_ok("long-slices", "no other thread");
    let own = machine.clone().slices_later(OWN, OWN, 990_000_000, 10);
    own.check_ok("long-slices", "no other thread");

    let container = machine.clone().without("proc/2/");
    container.check_ok("long-slices", "threads of the kernel are not visible here");
    let none = container.without("proc/100/task");
    none.check_unknown("long-slices", "no time slices are counted here");
    let frozen = machine.clone().later("proc/uptime", "1000.00 1\n");
    frozen.check_unknown("long-slices", "/proc/uptime did not advance");
    machine.without("proc/uptime").check_unknown("long-slices", "/proc/uptime does not exist");
}

/// A real neighbour that never sleeps. The root shows no other program of this machine, of which
/// three could be busier.
#[test]
fn a_busy_loop_is_found_on_this_machine() {
    let mut neighbour = std::process::Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .expect("a shell");
    let id = neighbour.id().to_string();
    let name = format!("sh ({id})");
    let directory = Directory::new();
    let proc = directory.0.join("proc");
    std::fs::create_dir(&proc).expect("a directory");
    for shown in ["uptime", &id] {
        let link = std::os::unix::fs::symlink(Path::new("/proc").join(shown), proc.join(shown));
        link.expect("a link");
    }
    let root = Root::at(&directory.0);
    let is_named = |_| {
        let sample = Sample::over(&root, Duration::from_millis(100));
        let facts = Facts::gather(None);
        let subject = ExaminedSystem { root: &root, facts: &facts, sample: &sample, target: None };
        let findings = Diagnosis::of(&subject).findings;
        let finding = findings.into_iter().find(|finding| finding.id == "long-slices");
        finding.is_some_and(|finding| finding.evidence.contains(&name))
    };
    let found = (0..100).any(is_named);
    neighbour.kill().expect("it runs");
    neighbour.wait().expect("it ends");
    assert!(found, "{name} was never named");
}

#[test]
fn steal_is_of_virtual_machines() {
    let machine = Machine::healthy();
    machine.check_ok("cpu-steal", "this is no virtual machine");
    let guest = machine.virtual_machine();
    guest.check_unknown("cpu-steal", "this hypervisor may not report it");
    let stat = |stolen| [[100, 0, 50, 10_000, 0, 0, 0, stolen]; 4];
    let later = |stolen| [[100, 0, 50, 10_100, 0, 0, 0, stolen]; 4];
    let advice = "use dedicated CPUs, or repeat runs and compare them";
    let calm = guest.clone().stat(stat(20)).stat_later(later(20));
    calm.check_ok("cpu-steal", "0% of CPU time now, 0.19% since boot");
    let before = guest.clone().stat(stat(100)).stat_later(later(100));
    before.check("cpu-steal", Warning, "0% of CPU time now, 0.97% since boot", advice);
    let now = guest.clone().stat(stat(100)).stat_later(later(110));
    now.check("cpu-steal", Problem, "9.09% of CPU time now", advice);
    guest.without("proc/stat").check_unknown("cpu-steal", "/proc/stat does not exist here");
}

#[test]
fn quotas_of_both_versions() {
    const GROUP: &str = "sys/fs/cgroup/user.slice/app.scope";
    let machine = Machine::healthy();
    machine.check_ok("cpu-quota", "none");
    let limited = machine.clone().file(&format!("{GROUP}/cpu.max"), "150000 100000\n");
    let command = format!("echo max | sudo tee /{GROUP}/cpu.max");
    limited.check("cpu-quota", Problem, "1.5 of 4 usable CPUs", &command);
    let throttled = limited.clone().later(&format!("{GROUP}/cpu.stat"), "nr_throttled 8\n");
    throttled.check("cpu-quota", Problem, "throttled in 5 periods", &command);
    let container = limited.file(".dockerenv", "");
    let advice = "no CPU limit on the container (docker --cpus, Kubernetes limits.cpu)";
    container.check("cpu-quota", Problem, "1.5 of 4", advice);
    let ample = machine.clone().file(&format!("{GROUP}/cpu.max"), "400000 100000\n");
    ample.check_ok("cpu-quota", "4 of 4 usable CPUs");

    let v1 = machine
        .clone()
        .file("proc/self/cgroup", "2:cpu,cpuacct:/half\n")
        .file("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n")
        .file("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 0\n")
        .file("sys/fs/cgroup/cpu/half/cpu.stat", "nr_throttled 0\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        .file("sys/fs/cgroup/cpu/half/cpu.cfs_quota_us", "-1\n")
        .file("sys/fs/cgroup/cpu/half/cpu.cfs_period_us", "100000\n");
    v1.check_ok("cpu-quota", "none");
    let half = v1.file("sys/fs/cgroup/cpu/half/cpu.cfs_quota_us", "50000\n");
    let command = "echo -1 | sudo tee /sys/fs/cgroup/cpu/half/cpu.cfs_quota_us";
    half.check("cpu-quota", Problem, "0.5 of 4", command);

    let reason = "no control group with the cpu controller is visible";
    machine.clone().without("proc/self/cgroup").check_unknown("cpu-quota", reason);
    machine.without("sys/fs/cgroup").check_unknown("cpu-quota", reason);
}

#[test]
fn affinity_is_compared_with_the_machine() {
    let machine = Machine::healthy();
    machine.check_ok("cpu-affinity", "all 4 CPUs are usable");
    let bound = machine.clone().facts(|facts| facts.usable_cpus = Ok(vec![1, 2]));
    bound.check("cpu-affinity", Warning, "CPUs 1,2 of 4 online", "taskset -cp 0-3 $$");
    let one = machine.clone().facts(|facts| facts.usable_cpus = Ok(vec![3]));
    one.check("cpu-affinity", Warning, "CPU 3 of 4 online", "taskset -cp 0-3 $$");
    let hidden = machine.clone().without("sys/devices/system/cpu/online");
    hidden.check_unknown("cpu-affinity", "/sys/devices/system/cpu/online does not exist here");
    let refused = machine.facts(|facts| facts.usable_cpus = unreadable("sched_getaffinity failed"));
    refused.check_unknown("cpu-affinity", "sched_getaffinity failed");
    refused.check_unknown("busy-neighbours", "sched_getaffinity failed");
}

#[test]
fn siblings_count_if_both_are_usable() {
    let machine = Machine::healthy();
    machine.check_ok("smt-siblings", "each of 4 CPUs is a core");
    let list = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let pair = machine.clone().file(&list(0), "0,2\n").file(&list(2), "0,2\n");
    let off = "echo off | sudo tee /sys/devices/system/cpu/smt/control";
    pair.check("smt-siblings", Warning, "CPUs 0,2 share a core", off);
    let pairs = pair.clone().file(&list(1), "1,3\n").file(&list(3), "1,3\n");
    pairs.check("smt-siblings", Warning, "2 cores have several CPUs each", off);
    let fixed = pairs.clone().file("sys/devices/system/cpu/smt/control", "notsupported\n");
    let advice = "run one thread on each core: weir --pin=0,1";
    fixed.check("smt-siblings", Warning, "2 cores", advice);
    pairs.facts(|facts| facts.usable_cpus = Ok(vec![0, 1])).check_ok("smt-siblings", "each of 2");
    let reason = "thread_siblings_list does not exist here";
    machine.clone().without(&list(3)).check_unknown("smt-siblings", reason);
    machine.file(&list(3), "x\n").check_unknown("smt-siblings", "has an unknown form");
}

#[test]
fn governors_that_follow_the_load_bias_latencies() {
    let command = "sudo cpupower frequency-set -g performance";
    let machine = Machine::healthy();
    machine.check_ok("cpu-governor", "performance");
    let scaling = machine.clone().each_cpu("cpufreq/scaling_governor", "powersave\n");
    scaling.check("cpu-governor", Warning, "powersave", command);
    let saving = scaling.clone().each_cpu("cpufreq/energy_performance_preference", "power\n");
    saving.check("cpu-governor", Warning, "powersave, energy preference power", command);
    let slow = scaling.each_cpu("cpufreq/scaling_driver", "acpi-cpufreq\n");
    slow.check("cpu-governor", Problem, "powersave", command);
    let mixed =
        machine.clone().file("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "ondemand");
    mixed.check("cpu-governor", Warning, "ondemand, performance", command);
    let hidden = machine.without("sys/devices/system/cpu/cpu2/cpufreq/");
    hidden.check_unknown("cpu-governor", "scaling_governor does not exist here");
    let guest = hidden.virtual_machine();
    guest.check_unknown("cpu-governor", "set by the host of this virtual machine");
}

#[test]
fn turbo_has_a_switch_for_each_driver() {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "sys/devices/system/cpu/cpufreq/boost";
    let machine = Machine::healthy();
    machine.check_ok("turbo", "off");
    let on = machine.clone().file(INTEL, "0\n");
    on.check("turbo", Warning, "on", &format!("echo 1 | sudo tee /{INTEL}"));
    let none = machine.clone().without(INTEL);
    none.check_unknown("turbo", "the frequency driver has no switch for it");
    none.clone().virtual_machine().check_unknown("turbo", "set by the host");
    none.clone().file(OTHERS, "0\n").check_ok("turbo", "off");
    let on = none.file(OTHERS, "1\n");
    on.check("turbo", Warning, "on", &format!("echo 0 | sudo tee /{OTHERS}"));
    machine.file(INTEL, "x\n").check_unknown("turbo", "has an unknown form");
}

#[test]
fn a_server_here_shares_the_cpus() {
    let machine = Machine::healthy();
    assert_eq!(machine.finding("shared-cpus"), None);
    machine.clone().remote().check_ok("shared-cpus", "the server is on another machine");
    let advice = "use another machine, or taskset -c 0,1 SERVER and taskset -c 2,3 weir URL";
    let local = machine.clone().local();
    local.check("shared-cpus", Warning, "on this machine (4 CPUs)", advice);
    local.clone().server("0-3").check("shared-cpus", Warning, "on this machine", advice);
    let apart = local.clone().server("0,1").facts(|facts| facts.usable_cpus = Ok(vec![2, 3]));
    apart.check_ok("shared-cpus", "weir on CPUs 2,3, the server on CPUs 0,1");
    apart.check_ok("cpu-affinity", "CPUs 2,3 of 4 online");
    let alone = local.facts(|facts| facts.usable_cpus = Ok(vec![2]));
    alone.check("shared-cpus", Problem, "one usable CPU", "use another machine for weir");
    let anywhere = machine.target("198.51.100.7:80", None);
    anywhere.check_unknown("shared-cpus", "this machine accepts every address");
}
