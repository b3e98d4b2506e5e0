//! Operating system functions other than connections: processors, limits, CPU time and memory, the
//! terminal's width, C's standard output. Each function is independent; there is no state.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::Endpoint;
use crate::socket::{self, Begun, SockAddr, check};

/// Binds the calling thread to one processor (sched_setaffinity(2)).
///
/// # Errors
/// If there is no such processor, or this process must not use it.
pub fn pin_to_cpu(cpu: u32) -> io::Result<()> {
    let mut set = no_cpus();
    if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: the number is within the set, as checked above.
    unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    // SAFETY: the kernel reads as many bytes of the set as it has; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) }).map(drop)
}

/// Returns the processors that the calling thread may run on, in ascending order
/// (sched_getaffinity(2)).
///
/// # Errors
/// If the kernel has more processors than a `cpu_set_t` has room for.
pub fn usable_cpus() -> io::Result<Vec<u32>> {
    let mut set = no_cpus();
    // SAFETY: the kernel writes as many bytes to the set as it has; 0 is the calling thread.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    let all = 0..8 * size_of::<libc::cpu_set_t>() as u32;
    // SAFETY: every number of `all` is within the set.
    Ok(all.filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect())
}

/// Returns the number of online processors of the machine, regardless of affinity; at least 1
/// (sysconf(3)).
pub(crate) fn online_cpus() -> u32 {
    // SAFETY: sysconf takes no pointers.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(cpus).unwrap_or(1).max(1)
}

fn no_cpus() -> libc::cpu_set_t {
    // SAFETY: all-zero bytes are the empty set.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Sends this process the signal of Ctrl-C (kill(2)), as a terminal in raw mode does not.
///
/// # Errors
/// None that kill(2) documents for the process itself.
pub fn interrupt_self() -> io::Result<()> {
    // SAFETY: kill and getpid take no pointers.
    check(unsafe { libc::kill(libc::getpid(), libc::SIGINT) }).map(drop)
}

/// Kills all processes of a process group (kill(2)), which is named by the id of its first process.
///
/// # Errors
/// When no process of the group is left, or this process must not send it signals.
pub fn kill_group(id: u32) -> io::Result<()> {
    let group = libc::pid_t::try_from(id).ok().filter(|group| *group > 1);
    let group = group.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: kill takes no pointers.
    check(unsafe { libc::kill(-group, libc::SIGKILL) }).map(drop)
}

/// Returns the CPU quota of this process's control groups, in processors, or `None` if there is
/// none. Both versions of control groups are supported.
pub fn cpu_quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(quota_of_group).min_by(f64::total_cmp)
}

/// Returns the lowest quota from one line's group up to the root.
fn quota_of_group(line: &str) -> Option<f64> {
    let (controllers, group) = parse_group(line)?;
    let is_v2 = controllers.is_empty();
    if !is_v2 && !controllers.split(',').any(|name| name == "cpu") {
        return None;
    }
    let root = Path::new(if is_v2 { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" });
    // In a container the host's path may not exist, but its own root does.
    Path::new(group.trim_start_matches('/'))
        .ancestors()
        .filter_map(|ancestor| {
            let directory = root.join(ancestor);
            if is_v2 {
                return parse_cpu_max(&fs::read_to_string(directory.join("cpu.max")).ok()?);
            }
            let quota = fs::read_to_string(directory.join("cpu.cfs_quota_us")).ok()?;
            let period = fs::read_to_string(directory.join("cpu.cfs_period_us")).ok()?;
            parse_cpu_max(&format!("{} {}", quota.trim(), period.trim()))
        })
        .min_by(f64::total_cmp)
}

/// Parses the controllers and the path of one line of /proc/self/cgroup (cgroups(7)).
fn parse_group(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// Parses quota and period into a number of processors; `max` and -1 are no quota.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// Sets the longest delay of the calling thread's timers, in nanoseconds
/// (PR_SET_TIMERSLACK(2const)). The default of 50 µs delays sends far too much; 1 ns is the
/// minimum.
///
/// # Errors
/// Those of prctl(2).
pub fn set_timer_slack(ns: u32) -> io::Result<()> {
    // SAFETY: this prctl takes no pointers.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(ns)) };
    check(result).map(drop)
}

/// Returns the longest delay of the calling thread's timers, in nanoseconds
/// (PR_GET_TIMERSLACK(2const)).
///
/// # Errors
/// Those of prctl(2).
pub fn timer_slack_ns() -> io::Result<u64> {
    // SAFETY: this prctl takes no pointers.
    let slack = check(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })?;
    Ok(u64::from(slack.unsigned_abs()))
}

/// Returns the resolution of the monotonic clock and of timers on it, in nanoseconds
/// (clock_getres(2)).
///
/// # Errors
/// Those of clock_getres(2).
pub fn clock_resolution_ns() -> io::Result<u64> {
    let mut span = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    check(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut span) })?;
    Ok(span.tv_sec.unsigned_abs() * 1_000_000_000 + span.tv_nsec.unsigned_abs())
}

/// Sleeps for `ns` nanoseconds, or less if interrupted (clock_nanosleep(2)).
pub(crate) fn nap(ns: u64) {
    let span = libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the span lives until the call returns; the remaining time is not requested.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &span, std::ptr::null_mut()) };
}

/// Nice value of threads that run beside the load.
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread, so that workers go first on a shared CPU: sets its
/// nice value to 10 (setpriority(2), which on Linux applies to a thread).
///
/// # Errors
/// Those of setpriority(2).
pub fn stand_back() -> io::Result<()> {
    // SAFETY: setpriority takes no pointers.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
    check(result).map(drop)
}

/// Lets the calling thread run only while nothing else wants its CPU (`SCHED_IDLE`, sched(7)). Any
/// other thread that wakes there takes the CPU at once, which a nice value does not ensure.
///
/// # Errors
/// Those of sched_setscheduler(2).
pub fn run_when_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) }).map(drop)
}

/// Smallest block that is mapped from the kernel on its own, in bytes: the default at program
/// start.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK_BYTES: libc::c_int = 128 * 1024;

/// Makes the allocator continue to map large blocks from the kernel and return them (mallopt(3)).
/// By default it stops mapping after the first of them is freed. From then on it zeroes blocks
/// itself, which makes large tables resident although only a few pages are used.
#[cfg(target_env = "gnu")]
pub fn map_large_blocks() {
    // SAFETY: this takes no pointers, and the allocator takes its own lock.
    let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES) };
    debug_assert_eq!(is_set, 1, "the threshold is within the allocator's limits");
}

/// Does nothing: this allocator is not known to keep large blocks.
#[cfg(not(target_env = "gnu"))]
pub fn map_large_blocks() {}

/// Limits on open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimit {
    /// The limit in force.
    pub soft: u64,
    /// The limit up to which this process may raise it.
    pub hard: u64,
}

/// Returns the limits on open descriptors, and leaves them as they are.
///
/// # Errors
/// Those of getrlimit(2).
pub fn descriptor_limit() -> io::Result<DescriptorLimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one limit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    Ok(DescriptorLimit { soft: limit.rlim_cur, hard: limit.rlim_max })
}

/// Raises the limit on open descriptors as far as this process may, and returns the result.
///
/// # Errors
/// Those of getrlimit(2) and setrlimit(2).
pub fn raise_descriptor_limit() -> io::Result<DescriptorLimit> {
    let DescriptorLimit { soft, hard } = descriptor_limit()?;
    if soft < hard {
        let limit = libc::rlimit { rlim_cur: hard, rlim_max: hard };
        // SAFETY: the kernel reads one limit.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    }
    Ok(DescriptorLimit { soft: hard.max(soft), hard })
}

/// CPU time used. The sum is exact; many kernels sample its division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time outside the kernel.
    pub user: Duration,
    /// Time in the kernel on behalf of the program.
    pub system: Duration,
}

impl CpuTime {
    /// Returns the sum of both.
    pub fn total(self) -> Duration {
        self.user + self.system
    }
}

/// Returns the CPU time of all threads of the process so far, ended ones included.
///
/// # Errors
/// Those of getrusage(2).
pub fn process_cpu_time() -> io::Result<CpuTime> {
    Ok(cpu_time(&usage(libc::RUSAGE_SELF)?))
}

/// Returns the CPU time of the calling thread so far.
///
/// # Errors
/// Those of getrusage(2).
pub fn thread_cpu_time() -> io::Result<CpuTime> {
    Ok(cpu_time(&usage(libc::RUSAGE_THREAD)?))
}

fn cpu_time(usage: &libc::rusage) -> CpuTime {
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }
}

fn usage(who: libc::c_int) -> io::Result<libc::rusage> {
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes one rusage.
    check(unsafe { libc::getrusage(who, &mut usage) })?;
    Ok(usage)
}

/// Resident memory of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Current size, in bytes.
    pub current_bytes: u64,
    /// Peak size so far, in bytes.
    pub peak_bytes: u64,
}

/// Returns the current and the peak resident memory of the process.
///
/// # Errors
/// If /proc cannot be read.
pub fn memory() -> io::Result<Memory> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let resident_pages = statm.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    let pages = resident_pages.ok_or_else(|| io::Error::other("/proc/self/statm has no size"))?;
    // SAFETY: sysconf takes no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.unsigned_abs();
    let current_bytes = pages * page_bytes;
    // Not getrusage's ru_maxrss, which starts at the peak of the parent process.
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib =
        peak.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    // The kernel updates its high-water mark only occasionally.
    let peak_bytes = peak_kib.map_or(0, |kib| kib * 1024).max(current_bytes);
    Ok(Memory { current_bytes, peak_bytes })
}

/// Opens a pipe by name for writing without waiting; `None` if it has no reader (fifo(7)). A write
/// for which it has no room is one that would block.
///
/// # Errors
/// Those of open(2).
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Flushes C's standard output (stdio(3)), so that text printed next follows the text of C code.
///
/// # Errors
/// Those of write(2).
pub fn flush_c_stdout() -> io::Result<()> {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: the C library made the stream before main, and fflush(3) takes its lock.
    check(unsafe { libc::fflush(stdout) }).map(drop)
}

/// Returns the width in columns of the terminal on standard output or, failing that, on standard
/// error; `None` if neither is a terminal.
pub fn terminal_columns() -> Option<u16> {
    [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().find_map(|fd| {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCGWINSZ writes one winsize.
        check(unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) }).ok()?;
        (size.ws_col > 0).then_some(size.ws_col)
    })
}

/// True if the other end of a terminal is gone, for example the window that showed it (`POLLHUP`,
/// poll(2)). From then on reads return at once, with nothing.
pub fn has_hung_up(terminal: BorrowedFd<'_>) -> bool {
    let mut entry = libc::pollfd { fd: terminal.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: the kernel reads and writes one entry.
    let ready = check(unsafe { libc::poll(&mut entry, 1, 0) });
    ready.is_ok() && entry.revents & (libc::POLLHUP | libc::POLLERR) != 0
}

/// Connects to `to` from `source`, an address of this machine, and blocks until connected.
///
/// # Errors
/// Those of bind(2) and connect(2), and `TimedOut` after `patience`, which must not be zero.
pub fn connect_from(source: IpAddr, to: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let address = SockAddr::new(&Endpoint::Tcp(to))?;
    let fd = socket::open(address.family(), false)?;
    socket::bind_source(&fd, source)?;
    // The send timeout also applies to connects (SO_SNDTIMEO, socket(7)).
    let stream = TcpStream::from(fd);
    stream.set_write_timeout(Some(patience))?;
    let fd = OwnedFd::from(stream);
    match socket::connect(&fd, &address)? {
        Begun::Connected => Ok(TcpStream::from(fd)),
        Begun::InProgress | Begun::Busy => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Returns the congestion control algorithm of new connections to `endpoint`; `None` if there is
/// none, as for Unix sockets.
pub fn congestion_control(endpoint: &Endpoint) -> Option<String> {
    let Endpoint::Tcp(_) = endpoint else { return None };
    let family = SockAddr::new(endpoint).ok()?.family();
    let name = socket::congestion_control(&socket::open(family, true).ok()?).ok()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_processor() {
        let cpus = usable_cpus().expect("affinity");
        let last = *cpus.last().expect("it runs somewhere");
        let pinned = thread::spawn(move || {
            pin_to_cpu(last).expect("one of its own");
            usable_cpus().expect("affinity")
        });
        assert_eq!(pinned.join().expect("no panic"), [last]);
        assert_eq!(usable_cpus().expect("affinity"), cpus);
        assert!(pin_to_cpu(u32::MAX).is_err());
    }

    #[test]
    fn quotas_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("-1 100000"), None);
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(parse_cpu_max(""), None);
        assert_eq!(parse_group("0::/user.slice"), Some(("", "/user.slice")));
        assert_eq!(parse_group("4:cpu,cpuacct:/a:b"), Some(("cpu,cpuacct", "/a:b")));
        assert_eq!(parse_group("nonsense"), None);
        assert!(cpu_quota().is_none_or(|quota| quota > 0.0));
    }

    #[test]
    fn what_is_used_grows() {
        let before = process_cpu_time().expect("usage").total();
        let mut sum = 0u64;
        while thread_cpu_time().expect("usage").total() < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_time().expect("usage").total() > before);
        let memory = memory().expect("proc");
        assert!(memory.current_bytes > 0 && memory.peak_bytes >= memory.current_bytes);
    }

    #[test]
    fn limits_and_settings() {
        let limit = raise_descriptor_limit().expect("limit");
        assert_eq!(limit.soft, limit.hard);
        assert_eq!(descriptor_limit().expect("limit"), limit);
        set_timer_slack(1).expect("slack");
        assert_eq!(timer_slack_ns().expect("slack"), 1);
        assert!(clock_resolution_ns().is_ok_and(|ns| ns > 0));
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
        assert!(congestion_control(&endpoint).is_some_and(|name| !name.contains('\0')));
        assert_eq!(congestion_control(&Endpoint::Unix("@a".into())), None);
        assert!(terminal_columns().is_none_or(|columns| columns > 0));
    }
}
