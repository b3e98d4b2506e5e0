//! The metrics of a run while it goes, in Prometheus' text format. Their names are their own:
//! `weir_live_…` counts by time, while `weir_…` of `--export prometheus` counts by plan.

use std::time::UNIX_EPOCH;

use weir_report::prometheus::MetricsPage;
use weir_result::{Plan, connections_at, stage_at};
use weir_runner::{RecentFrames, StudyProgress};

use super::{AgentTotals, LivePhase, Totals, client_figures, failures, own_rate_rps};

const NS_PER_S: f64 = 1e9;

/// Returns the page of these totals.
pub(super) fn page(totals: &Totals) -> String {
    let mut page = MetricsPage::default();
    if let Some((plan, began)) = &totals.load {
        about(plan, totals.frames.latest.at_ns, &mut page);
        let began_s = began.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let help = "Begin of the load, since 1970";
        page.single("weir_live_start_time_seconds", "gauge", help, began_s);
    }
    if let Some(study) = &totals.study {
        of_study(study, &mut page);
    }
    page.family("weir_live_phase", "gauge", "1 for the present phase of the run, else 0");
    for (stage, name) in LivePhase::ALL {
        let is_now = if stage == totals.stage { 1.0 } else { 0.0 };
        page.sample("weir_live_phase", &[("phase", name)], is_now);
    }
    let frame = &totals.frames.latest;
    if let Some(at_ns) = frame.at_ns {
        let help = "Time since the start of the measured window; negative in the warm-up";
        page.single("weir_live_window_seconds", "gauge", help, at_ns as f64 / NS_PER_S);
    }
    counters(totals, &mut page);
    let help = "Time from the planned send to the response, in a closed loop from the send, of \
                responses";
    page.histogram("weir_live_latency_seconds", help, &totals.latency);
    messages(totals, &mut page);
    names(totals, &mut page);
    agents(totals, &mut page);
    client(&totals.frames, &mut page);
    let gauges = [
        ("weir_live_open_connections", "Open connections", frame.open_connections),
        ("weir_live_in_flight", "Requests in flight", frame.in_flight),
        ("weir_live_backlog", "Requests due and not yet sent", frame.backlog),
    ];
    for (name, help, value) in gauges {
        page.single(name, "gauge", help, value as f64);
    }
    page.text().to_owned()
}

fn about(plan: &Plan, now_ns: Option<i64>, page: &mut MetricsPage) {
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("url", plan.url.as_str()),
        ("method", plan.request.method.as_str()),
    ];
    page.family("weir_live_run_info", "gauge", "The run; always 1");
    page.sample("weir_live_run_info", &labels, 1.0);
    let connections = plan.own_connections().into();
    page.single("weir_live_connections", "gauge", "Connections of the plan", connections);
    if let Some(rate_rps) = own_rate_rps(plan, now_ns) {
        let help = "Planned requests per second; absent in a closed loop";
        page.single("weir_live_planned_requests_per_second", "gauge", help, rate_rps);
    }
    let now_ns = now_ns.unwrap_or(0);
    let stage = match (plan.load.stages().is_empty(), plan.load.connections.stages().is_empty()) {
        (false, _) => Some(stage_at(plan.load.stages(), now_ns).0),
        (true, false) => Some(connections_at(plan.load.connections.stages(), now_ns).0),
        (true, true) => None,
    };
    if let Some(index) = stage {
        let help = "Number of the present stage of the load, from 1; absent without stages";
        page.single("weir_live_stage", "gauge", help, (index + 1) as f64);
    }
}

fn of_study(study: &StudyProgress, page: &mut MetricsPage) {
    let labels = [("design", study.design), ("variant", study.variant.as_str())];
    page.family("weir_live_study_info", "gauge", "The study and the variant that runs; always 1");
    page.sample("weir_live_study_info", &labels, 1.0);
    let help = "Number of the trial that runs, from 1";
    page.single("weir_live_trial", "gauge", help, study.trial.into());
    let help = "Trials that the study makes at most";
    page.single("weir_live_trials_at_most", "gauge", help, study.most.into());
}

/// Figures of the client itself, as far as they are known.
fn client(frames: &RecentFrames, page: &mut MetricsPage) {
    let names = [
        "weir_live_send_lag_p99_seconds",
        "weir_live_client_overhead_ratio",
        "weir_live_worker_cpu_ratio",
    ];
    for (name, (help, value)) in names.into_iter().zip(client_figures(frames)) {
        if let Some(value) = value {
            page.single(name, "gauge", help, value);
        }
    }
}

/// Counters since the start of the load. They grow once per second.
fn counters(totals: &Totals, page: &mut MetricsPage) {
    let sent = totals.sent as f64;
    let completed = totals.completed as f64;
    page.single("weir_live_requests_sent_total", "counter", "Requests sent", sent);
    page.single("weir_live_responses_total", "counter", "Complete responses", completed);
    let help = "Requests without success, by their outcome; bad responses are complete ones";
    page.family("weir_live_failures_total", "counter", help);
    for (kind, count) in totals.failures() {
        page.sample("weir_live_failures_total", &[("kind", kind)], count as f64);
    }
    let help = "Bytes received, heads included";
    let received = totals.bytes_received as f64;
    page.single("weir_live_received_bytes_total", "counter", help, received);
}

/// Messages within responses, if they are measured.
fn messages(totals: &Totals, page: &mut MetricsPage) {
    let Some((Plan { messages: Some(_), .. }, _)) = &totals.load else { return };
    let help = "Messages received within responses";
    page.single("weir_live_messages_total", "counter", help, totals.messages as f64);
    let help = "Time from the planned send to the first message of a measured request";
    page.histogram("weir_live_first_message_seconds", help, &totals.first_message());
    let help = "Time from one message of a response to the next, of measured requests";
    page.histogram("weir_live_message_gap_seconds", help, &totals.message_gap());
}

/// Counters of each agent of a fleet. They grow once per second.
fn agents(totals: &Totals, page: &mut MetricsPage) {
    type Count = fn(&AgentTotals) -> u64;
    let families: [(&str, &str, Count); 3] = [
        ("weir_live_agent_requests_sent_total", "Requests sent by agent", |of| of.sent),
        ("weir_live_agent_responses_total", "Complete responses by agent", |of| of.completed),
        ("weir_live_agent_failures_total", "Requests without success by agent", |of| of.failed),
    ];
    for (family, help, count) in families.into_iter().filter(|_| !totals.agents.is_empty()) {
        page.family(family, "counter", help);
        for (name, agent) in &totals.agents {
            page.sample(family, &[("agent", name.as_str())], count(agent) as f64);
        }
    }
}

/// Measured requests by name, if there is a list. They grow four times per second, the latencies
/// every 2 s.
fn names(totals: &Totals, page: &mut MetricsPage) {
    let names = totals.names();
    if names.is_empty() {
        return;
    }
    let family = "weir_live_name_responses_total";
    page.family(family, "counter", "Complete responses to measured requests by name");
    for (label, name) in &names {
        page.sample(family, &[("name", label)], name.responses() as f64);
    }
    let family = "weir_live_name_failures_total";
    page.family(family, "counter", "Measured requests without success by name and outcome");
    for (label, name) in &names {
        for (kind, count) in failures(name) {
            page.sample(family, &[("name", label), ("kind", kind)], count as f64);
        }
    }
    let family = "weir_live_name_latency_seconds";
    page.family(family, "histogram", "Latency of the responses to measured requests by name");
    for (label, name) in &names {
        page.histogram_samples(family, Some(("name", label)), &name.latency.to_histogram());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{totals, totals_of_list};
    use super::*;

    #[test]
    fn the_page_has_each_figure_in_base_units() {
        let page = page(&totals());
        for line in [
            "weir_live_planned_requests_per_second 500",
            "weir_live_connections 8",
            "weir_live_phase{phase=\"connecting\"} 0",
            "weir_live_phase{phase=\"warmup\"} 1",
            "weir_live_window_seconds -1.5",
            "weir_live_requests_sent_total 9",
            "weir_live_responses_total 4",
            "weir_live_failures_total{kind=\"bad_response\"} 1",
            "weir_live_failures_total{kind=\"transport_error\"} 2",
            "weir_live_failures_total{kind=\"timed_out\"} 3",
            "weir_live_received_bytes_total 480",
            "weir_live_latency_seconds_bucket{le=\"0.00005\"} 1",
            "weir_live_latency_seconds_bucket{le=\"0.0001\"} 2",
            "weir_live_latency_seconds_bucket{le=\"0.0025\"} 2",
            "weir_live_latency_seconds_bucket{le=\"0.005\"} 3",
            "weir_live_latency_seconds_bucket{le=\"25\"} 3",
            "weir_live_latency_seconds_bucket{le=\"+Inf\"} 4",
            "weir_live_latency_seconds_sum 30.0031",
            "weir_live_latency_seconds_count 4",
            "weir_live_send_lag_p99_seconds 0.00002",
            "weir_live_client_overhead_ratio 0.25",
            "weir_live_worker_cpu_ratio 0.5",
            "weir_live_open_connections 7",
            "weir_live_in_flight 5",
            "weir_live_backlog 6",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
        assert!(page.contains("url=\"http://h/?a=\\\"b\\\\?\""), "{page}");
    }

    #[test]
    fn names_of_a_list_are_labels() {
        let page = page(&totals_of_list());
        for line in [
            "weir_live_name_responses_total{name=\"buy \\\"x\\\"?\"} 100",
            "weir_live_name_failures_total{name=\"buy \\\"x\\\"?\",kind=\"bad_response\"} 10",
            "weir_live_name_failures_total{name=\"(others)\",kind=\"timed_out\"} 2",
            "weir_live_name_latency_seconds_bucket{name=\"(others)\",le=\"0.00005\"} 100",
            "weir_live_name_latency_seconds_count{name=\"(others)\"} 100",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
        assert!(!super::page(&totals()).contains("weir_live_name"), "there is no list");
    }

    #[test]
    fn an_agent_is_a_label() {
        let mut totals = totals();
        assert!(!page(&totals).contains("weir_live_agent"), "there is no fleet");
        let counts = AgentTotals { sent: 5, completed: 4, failed: 1 };
        totals.agents.insert("gen-1".to_owned(), counts);
        let page = page(&totals);
        for line in [
            "weir_live_agent_requests_sent_total{agent=\"gen-1\"} 5",
            "weir_live_agent_responses_total{agent=\"gen-1\"} 4",
            "weir_live_agent_failures_total{agent=\"gen-1\"} 1",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
    }

    #[test]
    fn a_study_and_its_trial_are_named() {
        let study = StudyProgress {
            design: "ab",
            trial: 3,
            least: 16,
            most: 40,
            variant: "new".to_owned(),
            left: None,
        };
        let mut totals = totals();
        totals.study = Some(study);
        let page = page(&totals);
        for line in [
            "weir_live_study_info{design=\"ab\",variant=\"new\"} 1",
            "weir_live_trial 3",
            "weir_live_trials_at_most 40",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
        totals.study = None;
        assert!(!super::page(&totals).contains("weir_live_trial"), "a single run has none");
    }

    #[test]
    fn counters_are_there_from_the_start() {
        // Else the first rate would lack what was counted before the first scrape.
        let page = page(&Totals::default());
        assert!(page.contains("weir_live_responses_total 0\n"), "{page}");
        assert!(page.contains("weir_live_phase{phase=\"checks\"} 1\n"), "{page}");
        assert!(!page.contains("run_info"), "{page}");
    }
}
