//! Parsing returns the numbers that printing wrote, and errors name the problem in other text.

use proptest::prelude::*;

use super::*;

#[test]
fn durations_are_read_exactly() {
    for (text, ns) in [
        ("0", 0),
        ("10", 10_000_000_000),
        ("0.5", 500_000_000),
        (".5s", 500_000_000),
        ("10s", 10_000_000_000),
        ("250ms", 250_000_000),
        ("100us", 100_000),
        ("100µs", 100_000),
        ("7ns", 7),
        ("1.5us", 1_500),
        ("2m", 120_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h2m3s4ms5us6ns", 3_723_004_005_006),
        (" 2 s ", 2_000_000_000),
        ("0.333333333s", 333_333_333),
        ("999999999999999999ns", 999_999_999_999_999_999),
    ] {
        assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
    }
}

#[test]
fn durations_that_are_none_are_refused() {
    for (text, why) in [
        ("", "a number is missing"),
        ("s", "does not begin with a number"),
        ("-1s", "must not be negative"),
        ("1x", "no unit 'x'"),
        ("1M", "no unit 'M'"),
        ("1m30", "last number has no unit"),
        ("30s1m", "units must get smaller"),
        ("1s1s", "units must get smaller"),
        ("1.5ns", "finer than a nanosecond"),
        ("0.0000000001", "finer than a nanosecond"),
        ("1.2.3s", "'1.2.3' is no number"),
        ("1,5s", "'1,5' is no number"),
        ("9999999h", "longer than 584 years"),
        ("1e3", "no unit 'e'"),
        ("1234567890123456789s", "too many digits"),
    ] {
        refused(&parse_duration_ns(text), text, why);
    }
}

#[test]
fn counts_are_read_exactly() {
    for (text, number) in [
        ("0", 0),
        ("100", 100),
        ("10k", 10_000),
        ("10K", 10_000),
        ("1.5k", 1_500),
        ("2M", 2_000_000),
        ("100m", 100_000_000),
        ("1G", 1_000_000_000),
        ("1.000001t", 1_000_001_000_000),
        ("200,000", 200_000),
        ("1,234,567k", 1_234_567_000),
    ] {
        assert_eq!(parse_count(text), Ok(number), "{text}");
    }
    for (text, why) in [
        ("1.5", "no whole number"),
        ("1.2345k", "no whole number"),
        ("10q", "no suffix 'q'"),
        ("1,00", "'1,00' is no number"),
        ("1000,000", "'1000,000' is no number"),
        ("999999999t", "too great"),
        ("-5", "must not be negative"),
    ] {
        refused(&parse_count(text), text, why);
    }
}

#[test]
fn rates_are_read_exactly() {
    for (text, numerator, denominator) in [
        ("20000", 20_000, 1),
        ("20k", 20_000, 1),
        ("0.5", 1, 2),
        ("1.5k", 1_500, 1),
        ("100/s", 100, 1),
        ("6000/m", 100, 1),
        ("1/3s", 1, 3),
        ("1/3", 1, 3),
        ("1 per 3 s", 1, 3),
        ("3/500ms", 6, 1),
        ("20,000/s", 20_000, 1),
        ("1/h", 1, 3_600),
        ("0.000001", 1, 1_000_000),
        ("1g", 1_000_000_000, 1),
    ] {
        assert_eq!(parse_rate(text), Ok((numerator, denominator)), "{text}");
    }
    for (text, why) in [
        ("0", "sends nothing"),
        ("0/s", "sends nothing"),
        ("1/0s", "no period"),
        ("2g", "more than a request per nanosecond"),
        ("10/fortnight", "no unit 'fortnight'"),
        ("fast", "does not begin with a number"),
        ("999999999999999999/0.000000001s", "more than a request per nanosecond"),
        ("0.999999999999999989/17.123456789s", "too many digits"),
    ] {
        refused(&parse_rate(text), text, why);
    }
}

#[test]
fn sizes_are_read_exactly() {
    for (text, number) in [
        ("4096", 4096),
        ("1B", 1),
        ("64k", 64_000),
        ("64kB", 64_000),
        ("4Ki", 4_096),
        ("4KiB", 4_096),
        ("1.5Mi", 1_572_864),
        ("1Gi", 1_073_741_824),
    ] {
        assert_eq!(parse_bytes(text), Ok(number), "{text}");
    }
    for (text, why) in
        [("4i", "no unit 'i'"), ("1.3", "no whole number"), ("4 parsecs", "no unit 'parsecs'")]
    {
        refused(&parse_bytes(text), text, why);
    }
}

#[test]
fn shares_and_numbers_are_read() {
    for (text, share) in
        [("0", 0.0), ("0.1%", 0.001), ("0.001", 0.001), ("100%", 1.0), ("1", 1.0), (" 5 % ", 0.05)]
    {
        assert_eq!(parse_share(text), Ok(share), "{text}");
    }
    for (text, why) in [
        ("", "a number is missing"),
        ("101%", "more than all"),
        ("2", "more than all"),
        ("-1%", "must not be negative"),
        ("5ms", "no unit 'ms'"),
    ] {
        refused(&parse_share(text), text, why);
    }
    for (text, number) in [("0", 0.0), ("0.5", 0.5), ("-3", -3.0), ("1.5k", 1500.0), ("1,000", 1e3)]
    {
        assert_eq!(parse_number(text), Ok(number), "{text}");
    }
    for (text, why) in
        [("", "a number is missing"), ("-", "a number is missing"), ("5x", "no suffix 'x'")]
    {
        refused(&parse_number(text), text, why);
    }
}

#[test]
fn fine_shares_and_numbers_are_printed() {
    for (share, text) in [
        (0.0, "0%"),
        (0.000_037, "0.0037%"),
        (0.000_000_123, "0.000012%"),
        (0.001, "0.10%"),
        (0.125, "12.5%"),
        (1.0, "100.0%"),
    ] {
        assert_eq!(fine_percent(share), text, "{share}");
    }
    for (value, text) in
        [(0.0, "0"), (10.0, "10"), (1234.5, "1,234.5"), (-0.25, "-0.25"), (1.0 / 3.0, "0.333333")]
    {
        assert_eq!(number(value), text, "{value}");
    }
}

#[test]
fn an_error_says_what_is_wrong_and_what_is_accepted() {
    let error = parse_duration_ns("10x").expect_err("no unit").to_string();
    assert_eq!(
        error,
        "'10x' is not a duration: there is no unit 'x'; \
         write 500ms, 2s, 1.5m, 1m30s (ns us ms s m h; a bare number is seconds)"
    );
}

#[test]
fn numbers_are_printed() {
    assert_eq!(count(0), "0");
    assert_eq!(count(999), "999");
    assert_eq!(count(1_000), "1,000");
    assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    assert_eq!(rate(19_999.8), "19,999.8/s");
    assert_eq!(rate(9.5), "9.50/s");
    assert_eq!(rate(0.5), "0.500/s");
    assert_eq!(rate(0.0), "0/s");
    assert_eq!(byte_rate(4_711_000.0), "4.71 MB/s");
    assert_eq!(byte_rate(999_999.0), "1.00 MB/s");
    assert_eq!(bytes(512), "512 B");
    assert_eq!(percent(0.000_2), "0.02%");
    assert_eq!(percent(0.5), "50.0%");
    for (numerator, denominator, text) in [
        (20_000, 1, "20,000/s"),
        (1, 2, "0.5/s"),
        (2_501, 1_000, "2.501/s"),
        (1, 3, "1 per 3 s"),
        (1, 40, "0.025/s"),
    ] {
        assert_eq!(exact_rate(numerator, denominator), text);
    }
}

#[test]
fn durations_are_printed() {
    for (ns, text) in [
        (0, "0 ns"),
        (85, "85 ns"),
        (12_345, "12 µs"),
        (999_999, "1,000 µs"),
        (1_004_999, "1.00 ms"),
        (1_005_000, "1.01 ms"),
        (2_000_000_000, "2.00 s"),
    ] {
        assert_eq!(duration(ns), text, "{ns}");
    }
    assert_eq!(duration_at_least(1_999_999_999), "1.99 s");
    assert_eq!(duration_at_most(1_990_000_001), "2.00 s");
    assert_eq!(duration_at_most(171_000), "171 µs");
    for (ns, text) in [
        (0, "0 s"),
        (10_000_000_000, "10 s"),
        (90_000_000_000, "90 s"),
        (120_000_000_000, "2 m"),
        (7_200_000_000_000, "2 h"),
        (1_500_000_000, "1.5 s"),
        (250_000_000, "250 ms"),
        (1_234_567_891, "1,234,567.891 µs"),
        (17, "17 ns"),
    ] {
        assert_eq!(exact_duration(ns), text, "{ns}");
    }
    for (ns, text) in [
        (54_333_333_334, "54.33 s"),
        (1_234_567_891, "1.23 s"),
        (1_500_000_000, "1.5 s"),
        (120_000_000_000, "2 m"),
        (0, "0 s"),
        (17, "17 ns"),
    ] {
        assert_eq!(plain_duration(ns), text, "{ns}");
    }
}

#[test]
fn a_column_has_one_unit() {
    let column = DurationColumn::of(980_000);
    assert_eq!(column.value(980_000), "0.98 ms");
    assert_eq!(column.value(15_000), "0.02 ms");
    assert_eq!(column.value(999_990_000), "999.99 ms");
    assert_eq!(column.at_least(10_000_300_000), "> 10.00 s");
    assert_eq!(column.at_least(1_999_999), "> 1.99 ms");
    assert_eq!(DurationColumn::of(3_000).value(95_000), "95 µs");
    assert_eq!(DurationColumn::of(3_000).value(1_400_000_000), "1.40 s");
    assert_eq!(DurationColumn::of(400).value(90), "90 ns");
}

proptest! {
    #[test]
    fn an_exact_duration_reads_back(ns in prop_oneof![any::<u64>(), 0..10_000_000_000_u64]) {
        // The parser reads eighteen digits; a third of the nanoseconds of 64 bits have more.
        prop_assume!(ns < 1_000_000_000_000_000_000);
        prop_assert_eq!(parse_duration_ns(&exact_duration(ns)), Ok(ns));
    }

    #[test]
    fn a_count_reads_back(number in 0..1_000_000_000_000_000_000_u64) {
        prop_assert_eq!(parse_count(&count(number)), Ok(number));
    }

    #[test]
    fn an_exact_rate_reads_back(amount in 1..1_000_000_u64, period_s in 1..100_000_u64) {
        let text = format!("{amount}/{period_s}s");
        let (numerator, denominator) = parse_rate(&text).expect("a rate");
        prop_assert_eq!(
            u128::from(numerator) * u128::from(period_s),
            u128::from(denominator) * u128::from(amount)
        );
        let again = parse_rate(&exact_rate(numerator, denominator));
        prop_assert_eq!(again, Ok((numerator, denominator)));
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,24}|[0-9.,]{0,24}[a-zA-Zµ/ ]{0,6}[0-9]{0,3}[a-z]{0,3}") {
        let _ = (parse_duration_ns(&text), parse_count(&text));
        let _ = (parse_rate(&text), parse_bytes(&text));
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(read: &Result<T, ParseError>, text: &str, why: &str) {
    let error = read.as_ref().expect_err(text).to_string();
    assert!(error.contains(why), "{text}: {error}");
}

#[test]
fn intervals_have_each_unit_that_is_not_the_value_s() {
    const MS: u64 = 1_000_000;
    for (typical, low, high, expected) in [
        (MS, 970_000, Some(990_000), "0.97–0.99"),
        (MS, 970_000, Some(1_300 * MS), "0.97 ms–1.30 s"),
        (MS, 1_200 * MS, Some(1_300 * MS), "1.20–1.30 s"),
        (33_000, 32_500, Some(3_797_001), "32 µs–3.80 ms"),
        (MS, 970_000, None, "≥ 0.97 ms"),
        (50_000, 104_000, None, "≥ 104 µs"),
        (50_000, 49_999, Some(51_001), "49–52"),
        (100, 85, Some(99), "85–99"),
    ] {
        assert_eq!(DurationColumn::of(typical).interval(low, high), expected);
    }
}

#[test]
fn bounds_are_rounded_away_from_the_value() {
    let column = DurationColumn::of(1_000_000);
    for (ns, least, most) in [
        (3_060_000, "≥ 3.06 ms", "≤ 3.06 ms"),
        (3_060_001, "≥ 3.06 ms", "≤ 3.07 ms"),
        (3_069_999, "≥ 3.06 ms", "≤ 3.07 ms"),
        (1_999_999_999, "≥ 1.99 s", "≤ 2.00 s"),
    ] {
        assert_eq!((column.or_more(ns).as_str(), column.at_most(ns).as_str()), (least, most));
    }
    for (rps, least) in [
        (71_234.7, "71,234/s"),
        (999.99, "999.9/s"),
        (999.93, "999.9/s"),
        (12.39, "12.3/s"),
        (0.0, "0/s"),
        (0.123_9, "0.123/s"),
    ] {
        assert_eq!(rate_at_least(rps), least);
    }
    for (rps, rounded) in [(71_234.7, "71,235/s"), (999.96, "1,000/s"), (999.9, "999.9/s")] {
        assert_eq!(round_rate(rps), rounded);
    }
}

#[test]
fn changes_become_multiples() {
    for (change, expected) in [
        (0.081, "+8.1%"),
        (-0.006, "−0.6%"),
        (-0.971, "−97.1%"),
        (0.0, "+0.0%"),
        (0.999, "+99.9%"),
        (1.4, "2.4 times"),
        (32.853, "34 times"),
        (1_999.0, "2,000 times"),
    ] {
        assert_eq!(super::change(change), expected);
    }
}
