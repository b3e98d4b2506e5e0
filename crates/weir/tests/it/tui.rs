//! `--tui` on a real terminal: tmux gives it one of a known size, and shows what is on it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::directory::Directory;
use crate::support::serve::Serve;
use crate::support::wait;
use crate::support::weir::{WEIR, weir};

/// Sizes of the terminal, in columns and rows.
const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (140, 40)];

/// End of the escape sequence of the plots' colour.
const CYAN: &str = "38;5;6m";

/// A tmux server with one terminal, in which a shell runs. It ends with its test.
struct Tmux {
    directory: Directory,
}

impl Tmux {
    fn new((columns, rows): (u16, u16), locale: &str) -> Tmux {
        let tmux = Tmux { directory: Directory::new() };
        let columns = columns.to_string();
        let rows = rows.to_string();
        let size = ["-x", &columns, "-y", &rows];
        let locale = format!("exec env LC_ALL={locale} PS1='ready> ' sh");
        let session = ["-f", "/dev/null", "-u", "new-session", "-d"];
        tmux.run(&[&session[..], &size, &[&locale]].concat());
        tmux.await_text("ready>");
        tmux
    }

    fn run(&self, words: &[&str]) -> String {
        let socket = self.directory.file("tmux");
        let mut command = Command::new("tmux");
        // A tmux around the tests is none of theirs.
        command.args(["-S", &socket]).args(words).env_remove("TMUX").env_remove("LC_ALL");
        let output = command.output().expect("`cargo xtask setup test` installs tmux");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("its screens are UTF-8")
    }

    /// Types a line into the shell.
    fn enter(&self, line: &str) {
        self.run(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen passes `check`, and returns it.
    fn await_screen(&self, what: &str, check: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let found = wait::within(wait::GUARD, || {
            last = self.screen();
            check(&last).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("no {what} on the screen:\n{last}"))
    }

    fn await_text(&self, text: &str) -> String {
        self.await_screen(text, |screen| screen.contains(text))
    }

    /// True while a program has the alternate screen.
    fn is_alternate(&self) -> bool {
        self.run(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// Checks that the shell has a usual terminal again: it echoes, and ends lines at Enter.
    fn assert_restored(&self) {
        assert!(!self.is_alternate());
        self.enter("stty -a | tr ' ' '\\n' | grep -xE 'echo|icanon|isig' | tr '\\n' =");
        self.await_text("isig=icanon=echo=");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.directory.file("tmux");
        let _ended = Command::new("tmux").args(["-S", &socket, "kill-server"]).output();
    }
}

/// True if a screen has a rate above 0, and times of the last second.
fn has_figures(screen: &str) -> bool {
    let cells = |label: &str| {
        let line = screen.lines().find(|line| line.starts_with(label))?;
        Some(line[label.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let rate = cells("Rate").is_some_and(|cells| cells[0].ends_with("/s") && cells[0] != "0/s");
    let times = cells("last 1 s").is_some_and(|cells| cells.len() == 10);
    rate && times && screen.contains("p99.9")
}

#[test]
fn the_screen_shows_the_run_and_q_ends_into_the_report() {
    let server = Serve::start(&[]);
    for size in SIZES {
        let tmux = Tmux::new(size, "C.UTF-8");
        let no_colour = if size == SIZES[0] { "NO_COLOR=1 " } else { "" };
        tmux.enter(&format!(
            "{no_colour}{WEIR} --tui -c2 -t1 -d600s --warmup 0 -R 500 {}; echo code $?",
            server.url()
        ));
        tmux.await_screen("figure", has_figures);
        assert!(tmux.is_alternate());
        let colours = tmux.run(&["capture-pane", "-p", "-e"]);
        assert_eq!(colours.contains(CYAN), size != SIZES[0], "{colours}");
        tmux.press("p");
        let paused = tmux.await_text("paused");
        assert!(paused.contains("planned 500/s"), "{paused}");
        tmux.press("p");
        tmux.await_screen("picture", |screen| !screen.contains("paused"));
        tmux.press("q");
        tmux.await_text("code 130");
        let report = tmux.run(&["capture-pane", "-p", "-S", "-200"]);
        assert!(report.contains("Throughput"), "{report}");
        tmux.assert_restored();
    }
}

#[test]
fn a_signal_restores_the_terminal() {
    let server = Serve::start(&[]);
    let tmux = Tmux::new((80, 24), "C");
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let pid = tmux.directory.file(signal);
        // weir has the shell's process id after exec.
        tmux.enter(&format!(
            "sh -c 'echo $$ > {pid}; exec {WEIR} --tui -c2 -t1 -d600s -R 500 {}'; echo code $?",
            server.url()
        ));
        let screen = tmux.await_screen("figure", has_figures);
        assert!(screen.is_ascii(), "{screen}");
        let id = std::fs::read_to_string(&pid).expect("the shell has written it");
        let killed = Command::new("sh").args(["-c", &format!("kill -s {signal} {id}")]).status();
        assert!(killed.is_ok_and(|status| status.success()), "{id}");
        tmux.await_text(&format!("code {code}"));
        tmux.assert_restored();
        tmux.enter("clear");
    }
}

/// Under nohup(1) a run outlives its terminal. Reading keys from what is left of it must not keep
/// the program from its end.
#[test]
fn a_run_outlives_its_terminal() {
    let server = Serve::start(&[]);
    let tmux = Tmux::new((80, 24), "C.UTF-8");
    // Kept apart from the terminal, which is removed below.
    let directory = Directory::new();
    let pid = directory.file("pid");
    let document = directory.file("run.json");
    tmux.enter(&format!(
        "sh -c 'trap \"\" HUP; echo $$ > {pid}; exec {WEIR} --tui -c2 -t1 -d600s -R 500 \
         -o {document} {}'",
        server.url()
    ));
    tmux.await_screen("figure", has_figures);
    let id = std::fs::read_to_string(&pid).expect("the shell has written it");
    drop(tmux);
    // Some frames without a terminal.
    wait::let_pass(Duration::from_millis(600));
    let ended = Command::new("sh").args(["-c", &format!("kill -s TERM {id}")]).status();
    assert!(ended.is_ok_and(|status| status.success()), "{id} has ended with its terminal");
    let process = Path::new("/proc").join(id.trim());
    let ended = wait::within(wait::GUARD, || (!process.exists()).then_some(()));
    assert!(ended.is_some(), "weir goes on without its terminal");
    let text = std::fs::read_to_string(&document).expect("an interrupted run writes its document");
    assert!(text.contains("\"interrupted\": true"), "{text}");
}

#[test]
fn a_terminal_that_shrinks_shows_the_size() {
    let server = Serve::start(&[]);
    let tmux = Tmux::new((80, 24), "C.UTF-8");
    tmux.enter(&format!("{WEIR} --tui -c2 -t1 -d600s -R 500 {}; echo code $?", server.url()));
    tmux.await_screen("figure", has_figures);
    tmux.run(&["resize-window", "-x", "50", "-y", "10"]);
    tmux.await_text("needs 60x16");
    tmux.run(&["resize-window", "-x", "60", "-y", "16"]);
    tmux.await_screen("figure", has_figures);
    tmux.press("C-c");
    tmux.await_text("code 130");
}

#[test]
fn output_of_a_script_waits_for_the_end_of_the_screen() {
    let server = Serve::start(&[]);
    let tmux = Tmux::new((80, 24), "C.UTF-8");
    let script = tmux.directory.file("script.lua");
    let text =
        "function request() print('printed') io.stderr:write('warned\\n') return wrk.format() end";
    std::fs::write(&script, text).expect("a new directory");
    let out = tmux.directory.file("out");
    let line = format!("{WEIR} --tui -c2 -t1 -d600s --warmup 0 -R 50 -s {script} {}", server.url());
    for (redirection, at_terminal) in [("", true), (&*format!(" > {out}"), false)] {
        tmux.enter(&format!("clear; {line}{redirection}; echo code $?"));
        let screen = tmux.await_screen("figure", has_figures);
        assert!(!screen.contains("printed") && !screen.contains("warned"), "{screen}");
        tmux.press("q");
        tmux.await_text("code 130");
        let lines = tmux.run(&["capture-pane", "-p", "-S", "-20000"]);
        assert!(lines.contains("warned\n"), "{lines}");
        assert_eq!(lines.contains("printed\n"), at_terminal, "{lines}");
        tmux.assert_restored();
        tmux.run(&["clear-history"]);
    }
    let out = std::fs::read_to_string(out).expect("the shell made it");
    assert!(out.contains("printed\n") && out.contains("Throughput"), "{out}");
    assert!(!out.contains('\x1b'), "the screen is on standard error: {out}");
}

#[test]
fn without_a_terminal_the_flag_is_refused() {
    let output = weir("--tui http://127.0.0.1:9/", &[]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("--tui needs a terminal"), "{output:?}");
    for other in ["-q", "--print-plan"] {
        let output = weir(&format!("--tui {other} http://127.0.0.1:9/"), &[]);
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.contains("cannot be used with"), "{output:?}");
    }
}
