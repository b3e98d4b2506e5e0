//! `done`: the summary and the statistics objects.

use weir_script::{Mode, Statistics};

use crate::support::{Script, summary};

fn latency() -> Statistics {
    Statistics { values: vec![(10, 3), (20, 5), (1_000, 2)], mean: 213.0, stdev: 393.5 }
}

/// Returns the value of the expression within `done`.
fn reported(mode: Mode, latency: &Statistics, expression: &str) -> String {
    let script = format!(
        "local function all(...)
           local said = {{ ... }}
           for index = 1, select('#', ...) do said[index] = tostring(said[index]) end
           return table.concat(said, ' ')
         end
         function done(summary, latency, requests) error(all({expression}), 0) end"
    );
    let mut script = Script::load(&script, |options| options.mode = mode).unwrap();
    let error = script.main.done(&summary(), latency, &Statistics::default()).unwrap_err();
    error.message.lines().next().unwrap().to_owned()
}

fn check(expression: &str, expected: &str) {
    for mode in [Mode::ClosedLoop, Mode::ConstantRate] {
        assert_eq!(reported(mode, &latency(), expression), expected, "{expression} in {mode:?}");
    }
}

#[test]
fn the_summary_has_all_totals() {
    check("summary.duration", "10000000");
    check("summary.requests", "1000");
    check("string.format('%d', summary.bytes)", "1099511627776");
    check("summary.errors.connect", "1");
    check("summary.errors.read", "2");
    check("summary.errors.write", "3");
    check("summary.errors.status", "4");
    check("summary.errors.timeout", "5");
}

#[test]
fn the_fields_of_a_distribution() {
    check("latency.min", "10");
    check("latency.max", "1000");
    check("latency.mean", "213");
    check("latency.stdev", "393.5");
    check("latency.count", "10");
    check("latency.distinct", "3");
    check("latency.within_stdev", "within_stdev");
    check("type(latency)", "userdata");
}

#[test]
fn percentiles_are_ranks() {
    check("latency:percentile(0)", "10");
    check("latency:percentile(30)", "10");
    check("latency:percentile(30.1)", "20");
    check("latency:percentile(50)", "20");
    check("latency:percentile(80)", "20");
    check("latency:percentile(90)", "1000");
    check("latency:percentile(99.999)", "1000");
    check("latency:percentile(100)", "1000");
    check("latency:percentile(101)", "1000");
    check("latency:percentile(-1)", "10");
    check("string.format('%d', latency:percentile('50'))", "20");
    check(
        "select(2, pcall(latency.percentile, latency, {})):match('percentile takes.*')",
        "percentile takes a number from 0 to 100, not a table",
    );
}

#[test]
fn calls_give_distinct_values_with_counts() {
    check("latency(1)", "10 3");
    check("latency(2)", "20 5");
    check("latency(3)", "1000 2");
    check("latency(0)", "0 3");
    check("latency(4)", "0 3");
}

#[test]
fn indices_give_samples() {
    check("latency[1]", "10");
    check("latency[3]", "10");
    check("latency[4]", "20");
    check("latency[8]", "20");
    check("latency[9]", "1000");
    check("latency[10]", "1000");
    check("latency[0]", "10");
    check("latency[11]", "1000");
}

#[test]
fn the_length_is_that_of_the_mode() {
    assert_eq!(reported(Mode::ClosedLoop, &latency(), "#latency"), "3");
    assert_eq!(reported(Mode::ConstantRate, &latency(), "#latency"), "10");
}

#[test]
fn nothing_is_zero() {
    check("requests.min, requests.max, requests.mean, requests.stdev", "0 0 0 0");
    check("requests:percentile(50), requests[1], #requests", "0 0 0");
    check("requests(1)", "0 0");
    check("requests.count, requests.distinct", "0 0");
}

#[test]
fn a_large_distribution_is_walked_in_one_pass() {
    let values: Vec<(u64, u64)> = (1..=200_000).map(|value| (value * 3, 2)).collect();
    let large = Statistics { values, mean: 1.0, stdev: 1.0 };
    let sum = "(function()
                 local sum, count = 0, 0
                 for i = 1, #latency do
                   local value, n = latency(i)
                   sum, count = sum + value * n, count + n
                 end
                 return string.format('%d %d', sum, count)
               end)()";
    assert_eq!(reported(Mode::ClosedLoop, &large, sum), "120000600000 400000");
    assert_eq!(reported(Mode::ClosedLoop, &large, "latency:percentile(50)"), "300000");
}

#[test]
fn without_done_nothing_happens() {
    let mut script = Script::load("done = 5", |_| ()).unwrap();
    assert_eq!(script.main.has_done(), Ok(false));
    script.main.done(&summary(), &latency(), &latency()).unwrap();
    let script = Script::load("function done() end", |_| ()).unwrap();
    assert_eq!(script.main.has_done(), Ok(true));
}
