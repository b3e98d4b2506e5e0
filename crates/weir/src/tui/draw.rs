//! The picture of a state, for any size of the terminal.

mod figures;
mod heat_map;
mod view;

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, RenderDirection, Sparkline};
use weir_text::units;

use view::{LABEL, bold, dim, label};

pub(super) use view::View;

use super::state::State;

/// Least size of the picture, in columns and rows.
const LEAST: (u16, u16) = (60, 16);

/// Columns of the list of keys.
const HELP: u16 = 52;

/// Draws a view on the whole terminal.
pub(super) fn view(frame: &mut Frame, view: &View) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let all = view.ended();
        let text = format!("needs {}x{}; the {all} goes on, q ends it", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    // A taller terminal gives the plots more rows.
    let rate = match area.height {
        0..20 => 1,
        20..32 => 3,
        _ => 6,
    };
    let state = view.state;
    let columns = area.width;
    // A closed loop sends when it can: it has no send lag.
    let lag = u16::from(state.planned.is_some());
    let messages = figures::messages(view, columns);
    let times = 3 + messages.len() as u16;
    let names = names_height(state, area.height.saturating_sub(rate + lag + times + 6));
    let rows = [1, rate, 1, times, lag, 1, 1, names, 1].map(Constraint::Length);
    let rows = rows.into_iter().chain([Constraint::Min(1), Constraint::Length(1)]);
    let areas = Layout::vertical(rows).split(area);
    header(frame, view, areas[0]);
    rates(frame, view, areas[1]);
    frame.render_widget(figures::connections(state, columns), areas[2]);
    let times = figures::percentiles(view, columns).into_iter().chain(messages);
    frame.render_widget(Paragraph::new(times.collect::<Vec<_>>()), areas[3]);
    frame.render_widget(figures::send_lag(view, columns), areas[4]);
    frame.render_widget(figures::client(view, columns), areas[5]);
    frame.render_widget(figures::failures(state, columns), areas[6]);
    frame.render_widget(Paragraph::new(figures::names(view, areas[7])), areas[7]);
    frame.render_widget(heat_map::title(view, columns - LABEL as u16), areas[8]);
    heat_map::plot(frame, view, areas[9]);
    let all = view.ended();
    let keys = match (view.is_between, view.is_paused) {
        (true, _) => format!("between trials: Ctrl-C ends the {all}"),
        (_, true) => format!("paused: the load goes on   p continues   q ends the {all}   ? help"),
        _ => format!("q ends the {all}   p pauses the picture   ? help"),
    };
    frame.render_widget(Line::from(keys).style(dim()), areas[10]);
    if view.is_help_open {
        help(frame, area, all);
    }
}

/// Rows of the heat map that names leave to it.
const HEAT_MAP: u16 = 8;

/// Returns the rows of the table of names, of `free` rows for it and the heat map: a head and at
/// least one name, or none.
fn names_height(state: &State, free: u16) -> u16 {
    let wanted = match state.names.len() {
        0 => 0,
        names => names as u16 + 1,
    };
    let rows = wanted.min(free.saturating_sub(HEAT_MAP));
    if rows < 2 { 0 } else { rows }
}

fn header(frame: &mut Frame, view: &View, area: Rect) {
    let right = view.glyphs.text(&view.state.phase);
    let areas = [Constraint::Min(1), Constraint::Length(right.chars().count() as u16 + 1)];
    let [left_area, right_area] = Layout::horizontal(areas).areas(area);
    let trial = view.state.trial.as_ref().map_or_else(String::new, |trial| format!("{trial}   "));
    let replay = view.state.replay.as_ref().map_or_else(String::new, |load| format!("   {load}"));
    let left = format!("weir   {trial}{}{replay}", view.state.target);
    let left = view.glyphs.text(&left).into_owned();
    frame.render_widget(Line::from(left).style(bold()), left_area);
    frame.render_widget(Line::from(right).alignment(Alignment::Right), right_area);
}

/// The rate, and its course.
fn rates(frame: &mut Frame, view: &View, area: Rect) {
    let state = view.state;
    let now = state.frames.rate_rps();
    let planned = state.planned.as_ref().map(|rate| format!("planned {rate}"));
    let mut text = vec![Line::from(vec![
        label("Rate"),
        Span::styled(format!("{:<14}", units::round_rate(now)), bold()),
    ])];
    let beside = match (planned, area.height) {
        (Some(planned), 2..) => {
            text.push(Line::from(format!("{:LABEL$}{planned}", "")));
            0
        }
        (Some(planned), _) => {
            text[0].push_span(format!("  {planned}"));
            planned.chars().count() as u16 + 2
        }
        (None, _) => 0,
    };
    let width = (LABEL as u16 + 16 + beside).max(LABEL as u16 + 20);
    let areas = Layout::horizontal([Constraint::Length(width), Constraint::Min(0)]);
    let [text_area, plot] = areas.areas(area);
    frame.render_widget(Paragraph::new(text), text_area);
    let newest_first = state.past.iter().rev().map(|past| Some(past.rate_rps.round() as u64));
    let bars = Sparkline::default()
        .data(newest_first.collect::<Vec<_>>())
        .direction(RenderDirection::RightToLeft)
        .bar_set(view.glyphs.bars())
        .style(Style::new().fg(Color::Cyan));
    frame.render_widget(bars, plot);
}

fn help(frame: &mut Frame, area: Rect, ended: &str) {
    let quit = format!("q, Ctrl-C   end the {ended}, then print the report");
    let abandon = format!("Ctrl-C      pressed again: abandon the {ended}");
    let text = [
        quit.as_str(),
        &abandon,
        "p, space    pause the picture; the load goes on",
        "Ctrl-L      draw everything anew",
        "?           close this list",
        "",
        "Send lag    requests were sent later than planned",
        "overhead    weir's own part of the latency",
        "worker CPU  of the busiest thread that sends",
        "Failures    since the load began, warm-up included",
    ];
    let height = text.len() as u16;
    let place = area.centered(Constraint::Length(HELP), Constraint::Length(height));
    frame.render_widget(Clear, place);
    let width = usize::from(HELP) - 1;
    let lines: Vec<Line> =
        text.into_iter().map(|line| Line::from(format!(" {line:<width$}"))).collect();
    frame.render_widget(
        Paragraph::new(lines).style(Style::new().add_modifier(Modifier::REVERSED)),
        place,
    );
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use weir_result::{Interval, ListPlan, Load, NameTotals, Plan, SparseHistogram, Tally};
    use weir_runner::{EndedRequests, SendLags, StampedTimes};

    use super::*;
    use crate::tui::glyphs::Glyphs;
    use crate::tui::state::State;

    const SECOND: u64 = 1_000_000_000;

    /// Times in nanoseconds, each so often.
    fn times(times: &[(u64, u32)]) -> SparseHistogram {
        let mut tally = Tally::new();
        times.iter().for_each(|(ns, times)| tally.record_times(*ns, *times));
        tally.take_sparse()
    }

    /// Returns the state 12 s into a run, with a response in 1,000 that takes 100 times as long.
    fn state() -> State {
        let url = "http://localhost:8080/index.html".to_owned();
        let duration_ns = Some(30 * SECOND);
        let plan = Plan {
            load: Load { duration_ns, connections: 64.into(), ..Plan::default().load },
            url,
            threads: 1,
            ..Plan::default()
        };
        let mut state = State::of(&plan);
        for second in 0..12 {
            let mut latency = Tally::new();
            latency.record_times(100_000, 9_990);
            latency.record_times(10_000_000, 10);
            let interval = Interval {
                start_ns: second * SECOND as i64,
                length_ns: SECOND,
                completed: 10_000 - 500 * second as u64,
                latency: latency.take_sparse(),
                ..Interval::default()
            };
            state.interval(&plan, &interval);
        }
        for quarter in 0..=48 {
            let frame = weir_runner::Frame {
                at_ns: Some(quarter * SECOND as i64 / 4),
                ended: EndedRequests {
                    completed: 1_128 * quarter as u64,
                    failed: quarter as u64 / 4,
                    bad: 0,
                    timed_out: quarter as u64 / 4,
                },
                open_connections: 64,
                in_flight: 63,
                backlog: 7,
                lags: SendLags {
                    send_lag: times(&[(35_000, 10), (12_000, 1 + quarter as u32)]),
                    ..SendLags::default()
                },
                stamped: StampedTimes {
                    response: times(&[(100_000, 100)]),
                    outside: times(&[(73_000, 100)]),
                },
                worker_cpu: Some(0.344),
                ..weir_runner::Frame::default()
            };
            state.frame(&plan, &frame);
        }
        state
    }

    /// Returns the rows of a picture.
    fn picture(size: (u16, u16), view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a test");
        terminal.draw(|frame| super::view(frame, view)).expect("no terminal is involved");
        let buffer = terminal.backend().buffer();
        let cells: Vec<&str> = buffer.content().iter().map(|cell| cell.symbol()).collect();
        cells.chunks(size.0.into()).map(|row| row.concat().trim_end().to_owned()).collect()
    }

    fn running(state: &State, glyphs: Glyphs) -> View<'_> {
        View { state, glyphs, is_paused: false, is_between: false, is_help_open: false }
    }

    #[test]
    fn every_size_has_all_figures() {
        let state = state();
        // From 80 columns on, columns have room for any times.
        let narrow = ["p50      p90      p99    p99.9      max", "last 1 s       100 µs   100 µs"];
        let wide = ["p50        p90        p99      p99.9", "last 1 s         100 µs     100 µs"];
        for (size, latency) in [((60, 16), narrow), ((80, 24), wide), ((140, 40), wide)] {
            let rows = picture(size, &running(&state, Glyphs::Blocks));
            let text = rows.join("\n");
            assert!(rows[0].starts_with("weir   http://localhost:8080/index.html"), "{text}");
            assert!(rows[0].ends_with("12 s of 30 s"), "{text}");
            for part in [
                "Rate        4,512/s",
                "Connections 64 open   in flight 63",
                "27% of p99 (limit: 5%)   worker CPU 34%",
                latency[0],
                latency[1],
                "timed out 12",
                "q ends the run",
            ] {
                assert!(text.contains(part), "{size:?} lacks {part:?}\n{text}");
            }
            let map = rows.iter().skip_while(|row| !row.starts_with("Heat map"));
            let shades = |shade: &str| map.clone().filter(|row| row.ends_with(shade)).count();
            assert_eq!(shades(&"█".repeat(12)), 1, "one row has the fast responses\n{text}");
            assert_eq!(shades(&"▒".repeat(12)), 1, "the few slow ones are lighter\n{text}");
        }
    }

    #[test]
    fn an_open_loop_shows_what_it_planned_and_its_send_lag() {
        let mut state = state();
        state.planned = Some("10,000/s".to_owned());
        for (size, rate) in [
            ((60, 16), "Rate        4,512/s         planned 10,000/s  "),
            ((80, 24), "            planned 10,000/s"),
        ] {
            let text = picture(size, &running(&state, Glyphs::Blocks)).join("\n");
            assert!(text.contains(rate) && text.contains("in flight 63   backlog 7"), "{text}");
            let lag = "Send lag    p99 of last 1 s 12 µs   of run 35 µs";
            assert!(text.lines().any(|row| row == lag), "{text}");
        }
    }

    #[test]
    fn a_replayed_log_stands_in_the_first_row() {
        let replay = weir_result::ReplayPlan {
            name: "access.log".to_owned(),
            requests: 1_906,
            window_ns: 60_000_000_000,
            ..weir_result::ReplayPlan::default()
        };
        let plan = Plan {
            load: Load { due: Some(weir_result::DueTimes::Log(replay)), ..Plan::default().load },
            ..Plan::default()
        };
        let state = State::of(&plan);
        let rows = picture((80, 24), &running(&state, Glyphs::Blocks));
        let first = "weir   http://127.0.0.1/   replay of access.log, 1,906 requests";
        assert!(rows[0].starts_with(first), "{rows:?}");
        assert!(rows.iter().any(|row| row.contains("planned mean 31.8/s")), "{rows:?}");
    }

    #[test]
    fn a_row_keeps_the_figures_that_fit() {
        let mut state = state();
        let frame = weir_runner::Frame {
            at_ns: Some(13 * SECOND as i64),
            ended: EndedRequests { failed: 1_000_000, ..EndedRequests::default() },
            transport_errors: [("ECONNRESET".to_owned(), 900_000)].into(),
            ..weir_runner::Frame::default()
        };
        state.frame(&Plan::default(), &frame);
        let row = |size| {
            let rows = picture(size, &running(&state, Glyphs::Ascii));
            rows.into_iter().find(|row| row.starts_with("Failures")).expect("every size has it")
        };
        let all = "Failures    bad responses 0   errors 1,000,000   timed out 0";
        assert_eq!(row((60, 16)), all);

        assert_eq!(row((80, 24)), format!("{all}   mostly ECONNRESET"));
    }

    /// Names take rows of the heat map, as many as leave it eight.
    #[test]
    fn a_list_has_a_table_of_names() {
        let list = ListPlan {
            names: ["home", "a long name of a path", "商品", "rest"].map(str::to_owned).into(),
            with_intervals: vec![0, 1, 2],
            ..ListPlan::default()
        };
        let plan = Plan { list: Some(list), ..Plan::default() };
        let mut state = state();
        state.names = State::of(&plan).names;
        let name = |ok, bad| NameTotals {
            ok,
            bad,
            latency: times(&[(100_000, 98), (5_000_000, 2)]),
            ..NameTotals::default()
        };
        let names = vec![name(1_000, 0), name(90, 10), name(7, 0), NameTotals::default()];
        let frame = weir_runner::Frame { names, ..weir_runner::Frame::default() };
        state.frame(&plan, &frame);
        let row = |size, start: &str| {
            let rows = picture(size, &running(&state, Glyphs::Ascii));
            rows.into_iter().find(|row| row.starts_with(start))
        };
        let words = |row: Option<String>| {
            let row = row.expect("it has the row");
            row.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row((60, 16), "By name"), None, "there is no room");
        for size in [(80, 24), (140, 40)] {
            assert_eq!(words(row(size, "home")), "home 1,000 0 100 us 5.00 ms");
            assert_eq!(words(row(size, "a long")), "a long name of a path 100 10 100 us 5.00 ms");
        }
        let head = "By name (1 more) responses failed p50 p99";
        assert_eq!(words(row((80, 24), "By name")), head);
        assert_eq!(words(row((140, 40), "By name")), "By name responses failed p50 p99");
        assert_eq!(words(row((140, 40), "(others)")), "(others) 0 0 - -");
        for size in [(60, 16), (60, 30), (80, 24), (140, 40)] {
            let rows = picture(size, &running(&state, Glyphs::Ascii));
            assert!(rows.iter().any(|row| row.starts_with("Heat map")), "{rows:?}");
        }
    }

    #[test]
    fn in_a_study_keys_end_the_study() {
        let mut state = state();
        state.trial = Some("trial 3 of 20: A".to_owned());
        let running = running(&state, Glyphs::Ascii);
        let foot = |view: &View| picture((80, 24), view).pop().expect("24 rows");
        assert_eq!(foot(&running), "q ends the study   p pauses the picture   ? help");
        let between = View { is_between: true, ..running };
        assert_eq!(foot(&between), "between trials: Ctrl-C ends the study");
        let text = picture((80, 24), &View { is_help_open: true, ..between }).join("\n");
        assert!(text.contains("trial 3 of 20: A") && text.contains("abandon the study"), "{text}");
    }

    #[test]
    fn silence_takes_the_place_of_the_last_second() {
        let mut state = state();
        for second in 12..=16 {
            let frame = weir_runner::Frame {
                at_ns: Some(second * SECOND as i64),
                ended: EndedRequests { completed: 1_128 * 48, ..EndedRequests::default() },
                in_flight: 64,
                ..weir_runner::Frame::default()
            };
            state.frame(
                &Plan::default().with_load(|load| load.duration_ns = Some(30 * SECOND)),
                &frame,
            );
        }
        let text = picture((60, 16), &running(&state, Glyphs::Ascii)).join("\n");
        assert!(text.contains("last 1 s      no response for 4 s"), "{text}");
    }

    #[test]
    fn an_ascii_terminal_gets_ascii() {
        let state = state();
        for size in [(60, 16), (80, 24), (140, 40)] {
            let text = picture(size, &running(&state, Glyphs::Ascii)).join("\n");
            assert!(text.is_ascii(), "{text}");
            assert!(text.contains("100 us") && text.contains("############"), "{text}");
        }
    }

    #[test]
    fn the_picture_of_a_small_terminal() {
        let text = picture((60, 16), &running(&state(), Glyphs::Ascii)).join("\n");
        assert_eq!(text, include_str!("small.txt").trim_end());
    }

    #[test]
    fn a_terminal_that_is_too_small_shows_the_size() {
        let state = state();
        for size in [(59, 16), (60, 15), (1, 1)] {
            let text = picture(size, &running(&state, Glyphs::Blocks)).join("\n");
            assert!(!text.contains("p99"), "{size:?}\n{text}");
            assert!(size.0 < 40 || text.contains("needs 60x16"), "{size:?}\n{text}");
        }
    }

    #[test]
    fn every_size_and_state_can_be_drawn() {
        let full = state();
        let empty = State::default();
        for state in [&full, &empty] {
            for size in [(60, 16), (61, 17), (80, 20), (300, 100), (1_000, 16)] {
                let view =
                    View { is_help_open: true, is_paused: true, ..running(state, Glyphs::Blocks) };
                let text = picture(size, &view).join("\n");
                assert!(text.contains("abandon the run") && text.contains("p continues"), "{text}");
            }
        }
    }
}
