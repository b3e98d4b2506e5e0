//! Checks of ports, queues, the connection table and TCP.

use weir_doctor::Severity::{Problem, Warning};

use crate::machine::Machine;

const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue\n";

/// A line of /proc/net/tcp.
fn socket(local: &str, peer: &str, state: &str, received: u64) -> String {
    format!("   0: {local} {peer} {state} 00000000:{received:08X} 00:00000000 00000000 0 0 1\n")
}

#[test]
fn local_ports_run_out() {
    const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";
    let widen = "sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'";
    let machine = Machine::healthy();
    machine.check_ok("local-ports", "28,232 ports (32768 to 60999), 17 connections in TIME_WAIT");
    let narrow = machine.clone().file(RANGE, "40000 44999\n");
    narrow.check("local-ports", Warning, "5,000 ports (40000 to 44999)", widen);
    let reserved = narrow.file("proc/sys/net/ipv4/ip_local_reserved_ports", "40000-44500,9\n");
    reserved.check("local-ports", Problem, "499 ports (40000 to 44999)", widen);

    // Only connections to the target hold its ports.
    let local = machine.clone().local();
    local.check_ok("local-ports", "28,232 ports (32768 to 60999)");
    let closed: String = (0..28_000u32)
        .map(|port| socket(&format!("0100007F:{:04X}", 32_768 + port), "0100007F:1F90", "06", 0))
        .collect();
    let busy = local.clone().file("proc/net/tcp", format!("{TCP}{closed}"));
    busy.check("local-ports", Problem, "28,000 held by this target", widen);
    let elsewhere = busy.clone().target("127.0.0.1:8081", Some(true));
    elsewhere.check_ok("local-ports", "28,232 ports (32768 to 60999)");
    let wide =
        busy.file(RANGE, "30000 65535\n").file("proc/net/sockstat", "TCP: inuse 5 tw 28000\n");
    wide.check(
        "local-ports",
        Warning,
        "held by this target",
        "wait 60 s until the closed connections are gone",
    );
    let unused = wide.file("proc/sys/net/ipv4/tcp_tw_reuse", "0\n");
    unused.check("local-ports", Warning, "held", "sudo sysctl -w net.ipv4.tcp_tw_reuse=1");

    machine.clone().without(RANGE).check_unknown("local-ports", "ip_local_port_range does not");
    machine.clone().file(RANGE, "x\n").check_unknown("local-ports", "has an unknown form");
    machine.without("proc/net/sockstat").check_unknown("local-ports", "/proc/net/sockstat does");
}

#[test]
fn the_queue_of_a_local_server_is_read() {
    let machine = Machine::healthy();
    assert_eq!(machine.finding("listener"), None);
    assert_eq!(machine.clone().remote().finding("listener"), None);
    let local = machine.local();
    local.check_ok("listener", "0 connections wait to be accepted; 0 dropped now, 7 since boot");
    let advice = "stop the other load, or give the server a greater backlog";
    let waiting = format!("{TCP}{}", socket("00000000:1F90", "00000000:0000", "0A", 12));
    let waiting = local.clone().file("proc/net/tcp", waiting);
    waiting.check("listener", Warning, "12 connections wait", advice);
    let overflow = "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 10\n";
    let dropping = local.clone().later("proc/net/netstat", overflow);
    dropping.check("listener", Problem, "3 dropped now, 10 since boot", advice);
    let none = local.clone().file("proc/net/tcp", TCP);
    none.check_unknown("listener", "no socket listens on 127.0.0.1:8080");
    local.clone().without("proc/net/tcp").check_unknown("listener", "/proc/net/tcp does not exist");
    let old = local.file("proc/net/netstat", "TcpExt: SyncookiesSent\nTcpExt: 0\n");
    old.check_unknown("listener", "/proc/net/netstat has an unknown form");
}

#[test]
fn queues_limit_connects_to_this_machine() {
    for (id, path, name) in [
        ("listen-backlog", "proc/sys/net/core/somaxconn", "net.core.somaxconn"),
        ("syn-backlog", "proc/sys/net/ipv4/tcp_max_syn_backlog", "net.ipv4.tcp_max_syn_backlog"),
    ] {
        let machine = Machine::healthy();
        machine.check_ok(id, name);
        let short = machine.clone().file(path, "128\n").local();
        let command = format!("sudo sysctl -w {name}=4096");
        short.check(id, Warning, &format!("{name} = 128"), &command);
        assert_eq!(short.remote().finding(id), None, "it is the server's, which is elsewhere");
        machine.without(path).check_unknown(id, "does not exist here");
    }
}

#[test]
fn a_full_connection_table_drops_packets() {
    const TABLE: &str = "proc/sys/net/netfilter/nf_conntrack";
    let machine = Machine::healthy();
    machine.check_ok("conntrack", "not loaded in this network namespace");
    let table = |count: &str, max: &str| {
        let machine = machine.clone().file(&format!("{TABLE}_count"), count);
        machine.file(&format!("{TABLE}_max"), max)
    };
    table("100", "65536").check_ok("conntrack", "100 of 65,536 entries in use");
    let command = "sudo sysctl -w net.netfilter.nf_conntrack_max=262144";
    table("50000", "65536").check("conntrack", Warning, "50,000 of 65,536", command);
    let command = "sudo sysctl -w net.netfilter.nf_conntrack_max=524288";
    table("262000", "262144").check("conntrack", Problem, "262,000 of 262,144", command);
    let hidden = table("1", "65536").without("proc/sys/net/netfilter/nf_conntrack_count");
    hidden.check_unknown("conntrack", "nf_conntrack_count does not exist here");
    machine.without("proc/sys/net").check_unknown("conntrack", "does not exist here");
}

#[test]
fn pacing_is_of_no_use_on_one_machine() {
    let bbr = Machine::healthy().facts(|facts| facts.congestion_control = Some("bbr".to_owned()));
    Machine::healthy().local().check_ok("congestion-control", "cubic");
    bbr.check_ok("congestion-control", "bbr");
    bbr.clone().remote().check_ok("congestion-control", "bbr");
    let command = "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic";
    bbr.clone().local().check("congestion-control", Warning, "bbr", command);
    let hidden = bbr.facts(|facts| facts.congestion_control = None);
    hidden.check_unknown("congestion-control", "TCP_CONGESTION cannot be read");
}

#[test]
fn slow_start_is_reported_for_remote_servers() {
    const AFTER_IDLE: &str = "proc/sys/net/ipv4/tcp_slow_start_after_idle";
    assert_eq!(Machine::healthy().local().finding("slow-start"), None);
    let remote = Machine::healthy().remote();
    remote.check_ok("slow-start", "on idle connections: slows requests over 14 kB at low rates");
    remote.clone().file(AFTER_IDLE, "0\n").check_ok("slow-start", "off");
    remote.without(AFTER_IDLE).check_unknown("slow-start", "does not exist here");
}
