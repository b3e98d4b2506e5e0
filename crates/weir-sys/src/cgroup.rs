//! The CPU quota of this process's control groups.

use std::fs;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
