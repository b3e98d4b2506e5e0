//! A made-up machine: files below a directory, and the facts that need system calls. It begins in
//! good order; each test spoils one thing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{fs, io};

use weir_doctor::{
    Diagnosis, ExaminedSystem, Facts, Finding, Reading, Remedy, Sample, Severity, TargetServer,
};
use weir_machine::sys::DescriptorLimit;
use weir_machine::{Root, Unreadable};

/// Id of the doctor's own process.
pub(crate) const OWN: u32 = 100;

/// Ticks of one CPU: user, nice, system, idle, iowait, irq, softirq, steal.
pub(crate) type Ticks = [u64; 8];

/// The machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    files: BTreeMap<String, String>,
    /// Files that have another text at the end of the sample.
    later: BTreeMap<String, String>,
    /// Symbolic links and their targets.
    links: BTreeMap<String, String>,
    pub(crate) facts: Facts,
    target: Option<TargetServer>,
}

impl Machine {
    /// A machine of four cores, with nothing to correct and no target.
    pub(crate) fn healthy() -> Machine {
        let mut files = BTreeMap::new();
        for (path, text) in FILES {
            files.insert(path.to_owned(), text.to_owned());
        }
        for cpu in 0..4 {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}");
            for (name, text) in [
                ("topology/thread_siblings_list", cpu.to_string()),
                ("cpufreq/scaling_governor", "performance".to_owned()),
                ("cpufreq/scaling_driver", "intel_pstate".to_owned()),
                ("cpufreq/energy_performance_preference", "performance".to_owned()),
            ] {
                files.insert(format!("{directory}/{name}"), text);
            }
        }
        let facts = Facts {
            process_id: OWN,
            usable_cpus: Ok(vec![0, 1, 2, 3]),
            descriptors: Ok(DescriptorLimit { soft: 1_024, hard: 524_288 }),
            timer_slack_ns: Ok(50_000),
            lowered_slack_ns: Ok(1),
            clock_resolution_ns: Ok(1),
            clock_read_ns: 25.0,
            congestion_control: Some("cubic".to_owned()),
            uring: Ok(()),
        };
        let machine =
            Machine { files, later: BTreeMap::new(), links: BTreeMap::new(), facts, target: None };
        let idle = [100, 0, 50, 10_000, 0, 0, 0, 0];
        machine
            .stat([idle; 4])
            .process(OWN, "weir", 10)
            .file("proc/2/stat", kernel_thread(2, "kthreadd"))
            .slices(OWN, OWN, 50_000_000, 9)
            .slices(2, 2, 1_000_000, 100)
            .later("proc/uptime", "1001.00 3900.00\n")
            .stat_later([[100, 0, 51, 10_099, 0, 0, 0, 0]; 4])
    }

    /// Sets a file.
    pub(crate) fn file(mut self, path: &str, text: impl Into<String>) -> Machine {
        self.files.insert(path.to_owned(), text.into());
        self
    }

    /// Sets the text of a file at the end of the sample.
    pub(crate) fn later(mut self, path: &str, text: impl Into<String>) -> Machine {
        self.later.insert(path.to_owned(), text.into());
        self
    }

    /// Removes a file, or all files below a directory.
    pub(crate) fn without(mut self, path: &str) -> Machine {
        let before = self.files.len();
        self.files.retain(|name, _| !name.starts_with(path));
        assert_ne!(self.files.len(), before, "there is no {path}");
        self.later.retain(|name, _| !name.starts_with(path));
        self
    }

    /// Changes the facts.
    pub(crate) fn facts(mut self, change: impl FnOnce(&mut Facts)) -> Machine {
        change(&mut self.facts);
        self
    }

    /// Sets the same file of every CPU.
    pub(crate) fn each_cpu(self, name: &str, text: &str) -> Machine {
        (0..4).fold(self, |machine, cpu| {
            machine.file(&format!("sys/devices/system/cpu/cpu{cpu}/{name}"), text)
        })
    }

    /// Makes it a virtual machine.
    pub(crate) fn virtual_machine(self) -> Machine {
        self.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor sse2\n")
    }

    /// Adds a process that has used this many ticks.
    pub(crate) fn process(self, id: u32, name: &str, ticks: u64) -> Machine {
        self.file(&format!("proc/{id}/stat"), process(id, name, ticks))
    }

    /// Sets the ticks of a process at the end of the sample.
    pub(crate) fn process_later(self, id: u32, name: &str, ticks: u64) -> Machine {
        self.later(&format!("proc/{id}/stat"), process(id, name, ticks))
    }

    /// Adds a thread of the kernel with this time on a CPU, in nanoseconds, and time slices.
    pub(crate) fn kernel_thread(self, id: u32, name: &str, run_ns: u64, slices: u64) -> Machine {
        self.file(&format!("proc/{id}/stat"), kernel_thread(id, name))
            .slices(id, id, run_ns, slices)
    }

    /// Sets the time on a CPU and the time slices of a thread.
    pub(crate) fn slices(self, process: u32, id: u32, run_ns: u64, slices: u64) -> Machine {
        self.file(&format!("proc/{process}/task/{id}/schedstat"), schedstat(run_ns, slices))
    }

    /// Sets the same at the end of the sample.
    pub(crate) fn slices_later(self, process: u32, id: u32, run_ns: u64, slices: u64) -> Machine {
        self.later(&format!("proc/{process}/task/{id}/schedstat"), schedstat(run_ns, slices))
    }

    /// Sets the ticks of the CPUs.
    pub(crate) fn stat(self, cpus: [Ticks; 4]) -> Machine {
        self.file("proc/stat", stat(cpus))
    }

    /// Sets the ticks of the CPUs at the end of the sample.
    pub(crate) fn stat_later(self, cpus: [Ticks; 4]) -> Machine {
        self.later("proc/stat", stat(cpus))
    }

    /// Adds the process of the server on port 8080, which may run on these CPUs.
    pub(crate) fn server(mut self, cpus: &str) -> Machine {
        self.links.insert("proc/55/fd/3".to_owned(), "socket:[1]".to_owned());
        self.links.insert("proc/55/fd/0".to_owned(), "/dev/null".to_owned());
        self.file("proc/55/status", format!("Name:\tnginx\nCpus_allowed_list:\t{cpus}\n"))
    }

    /// Sets a target on this machine.
    pub(crate) fn local(self) -> Machine {
        self.target("127.0.0.1:8080", Some(true))
    }

    /// Sets a target on another machine.
    pub(crate) fn remote(self) -> Machine {
        self.target("198.51.100.7:80", Some(false))
    }

    /// Sets the target.
    pub(crate) fn target(mut self, address: &str, is_local: Option<bool>) -> Machine {
        let address: SocketAddr = address.parse().expect("an address");
        self.target = Some(TargetServer { url: format!("http://{address}"), address, is_local });
        self
    }

    /// Makes all checks.
    pub(crate) fn diagnosis(&self) -> Diagnosis {
        let directory = Directory::new();
        let write = |files: &BTreeMap<String, String>| {
            for (path, text) in files {
                let path = directory.0.join(path);
                fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
        };
        write(&self.files);
        for (path, target) in &self.links {
            let path = directory.0.join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            std::os::unix::fs::symlink(target, path).expect("a link");
        }
        let root = Root::at(&directory.0);
        let before = Reading::take(&root);
        write(&self.later);
        let sample = Sample { before, after: Reading::take(&root) };
        let facts = &self.facts;
        let target = self.target.as_ref();
        Diagnosis::of(&ExaminedSystem { root: &root, facts, sample: &sample, target })
    }

    /// Returns the finding of one check; `None` if it does not apply.
    pub(crate) fn finding(&self, id: &str) -> Option<Finding> {
        self.diagnosis().findings.into_iter().find(|finding| finding.id == id)
    }

    /// Asserts the outcome of one check, a part of its evidence, and its remedy.
    #[track_caller]
    pub(crate) fn check(&self, id: &str, severity: Severity, evidence: &str, remedy: &str) {
        let finding = self.finding(id).unwrap_or_else(|| panic!("{id} does not apply"));
        assert_eq!(finding.severity, severity, "{finding:?}");
        assert!(finding.evidence.contains(evidence), "{finding:?}");
        let found = match &finding.remedy {
            Some(Remedy::Command(text) | Remedy::Advice(text)) => text.as_str(),
            None => "",
        };
        assert_eq!(found, remedy, "{finding:?}");
        let is_harmful = severity <= Severity::Warning;
        assert_eq!((finding.effect.is_some(), !found.is_empty()), (is_harmful, is_harmful));
    }

    /// Asserts that there is nothing to correct.
    #[track_caller]
    pub(crate) fn check_ok(&self, id: &str, evidence: &str) {
        self.check(id, Severity::Ok, evidence, "");
    }

    /// Asserts that the check could not be made, for this reason.
    #[track_caller]
    pub(crate) fn check_unknown(&self, id: &str, reason: &str) {
        self.check(id, Severity::Unknown, reason, "");
    }
}

/// The reason for a fact that could not be read.
pub(crate) fn unreadable<T>(reason: &str) -> Result<T, Unreadable> {
    Err(Unreadable(reason.to_owned()))
}

fn process(id: u32, name: &str, ticks: u64) -> String {
    format!("{id} ({name}) S 1 1 1 0 -1 4194304 1 0 0 0 {ticks} 0 0 0 20 0 1 0 5 1000 10 0\n")
}

fn kernel_thread(id: u32, name: &str) -> String {
    format!("{id} ({name}) I 2 0 0 0 -1 2129984 0 0 0 0 0 7 0 0 20 0 1 0 141 0 0\n")
}

fn schedstat(run_ns: u64, slices: u64) -> String {
    format!("{run_ns} 12345 {slices}\n")
}

fn stat(cpus: [Ticks; 4]) -> String {
    let mut text = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
    for (cpu, ticks) in cpus.iter().enumerate() {
        let words: Vec<String> = ticks.iter().map(u64::to_string).collect();
        text += &format!("cpu{cpu} {} 0 0\n", words.join(" "));
    }
    text + "intr 1 2 3\nctxt 4\n"
}

/// Files that do not depend on the CPU.
const FILES: [(&str, &str); 28] = [
    ("proc/uptime", "1000.00 3896.00\n"),
    ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2\n"),
    ("proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:   12000000 kB\n"),
    ("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("proc/vmstat", "nr_free_pages 5\npswpin 70\npswpout 80\n"),
    ("proc/self/cgroup", "0::/user.slice/app.scope\n"),
    ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"),
    ("proc/self/status", "Name:\tweir\nSeccomp:\t0\nSeccomp_filters:\t0\n"),
    ("sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/user.slice/app.scope/cpu.stat", "usage_usec 5\nnr_throttled 3\n"),
    ("proc/net/netstat", "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 7\n"),
    ("proc/net/sockstat", "sockets: used 9\nTCP: inuse 5 orphan 0 tw 17 alloc 9 mem 0\n"),
    (
        "proc/net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue\n   \
         0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1\n",
    ),
    ("proc/net/tcp6", "  sl  local_address rem_address   st tx_queue rx_queue\n"),
    ("proc/sys/kernel/hostname", "bench1\n"),
    ("proc/sys/kernel/osrelease", "6.12.1\n"),
    ("proc/sys/kernel/io_uring_disabled", "0\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/tcp_max_syn_backlog", "2048\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ("proc/sys/net/ipv4/ip_local_reserved_ports", "\n"),
    ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
    ("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/smt/control", "on\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
];

/// A new, empty directory, removed after its use.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        let place = std::env::temp_dir();
        for number in 0.. {
            let path = place.join(format!("weir-doctor-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Directory(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
        unreachable!("there is always one more number")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.0);
    }
}
