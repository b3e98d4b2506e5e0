//! Circles of rooms. A room is a module with all modules below it. The parts of a module, its own
//! file and the rooms in it, must have an order in which each uses only parts that follow.
//!
//! An arrow is a name: one that a file uses and another file of the crate defines. A `mod` is no
//! arrow, and neither is a `pub use` of what is below, which only passes a name on: who uses that
//! name has an arrow to the file that defines it. Calls of methods are no arrows, since the
//! methods of one type may be in several files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::finding::Finding;
use crate::source::{Crate, Mention, Module, Room, Tree, crates};

/// The arrows between the parts of a module, one for each two parts. A part is named by its module,
/// the module's own file by [`OWN`].
type Graph<'a> = BTreeMap<(&'a str, &'a str), &'a Mention<'a>>;

const OWN: &str = "";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    crates(tree).iter().flat_map(circles).collect()
}

fn circles(within: &Crate) -> Vec<Finding> {
    let mut arrows: Vec<Mention> =
        within.rooms.keys().flat_map(|from| within.mentions(from)).collect();
    arrows.retain(|mention| !(mention.is_passed_on && mention.to.starts_with(mention.from)));
    let mut findings = Vec::new();
    for (module, room) in &within.rooms {
        let graph = graph(module, &arrows);
        for ((from, to), arrow) in &graph {
            if let Some(back) = way(&graph, to, from) {
                findings.push(finding(within, room, from, &back, arrow));
            }
        }
    }
    findings
}

/// Returns the arrows between the parts of one module, the first of each.
fn graph<'a>(module: &Module, arrows: &'a [Mention<'a>]) -> Graph<'a> {
    let mut graph = Graph::new();
    for arrow in arrows {
        if let (Some(from), Some(to)) = (part(module, arrow.from), part(module, &arrow.to))
            && from != to
        {
            graph.entry((from, to)).or_insert(arrow);
        }
    }
    graph
}

/// Returns the part of `module` that `other` is in, if it is in the module.
fn part<'a>(module: &Module, other: &'a Module) -> Option<&'a str> {
    let below = other.strip_prefix(module.as_slice())?;
    Some(below.first().map_or(OWN, String::as_str))
}

/// Returns the parts on the shortest way along arrows, both ends included.
fn way<'a>(graph: &Graph<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = *way.last().expect("a way begins somewhere");
        if last == to {
            return Some(way);
        }
        if seen.insert(last) {
            let heads = graph.keys().filter(|(tail, _)| *tail == last).map(|(_, head)| *head);
            ways.extend(heads.map(|head| [way.as_slice(), &[head]].concat()));
        }
    }
    None
}

/// Returns the finding for an arrow, at the `mod` of its room.
fn finding(within: &Crate, room: &Room, from: &str, back: &[&str], arrow: &Mention) -> Finding {
    let shown =
        |part: &&str| if *part == OWN { "this file".to_owned() } else { format!("`{part}`") };
    let advice = format!(
        "{} uses {} (`{}`, {}:{}), and the way back is {}: move what both need below both",
        shown(&from),
        shown(&back[0]),
        arrow.name,
        within.rooms[arrow.from].file.path,
        arrow.line,
        back.iter().map(shown).collect::<Vec<_>>().join(" -> "),
    );
    let line = room.children.get(from).copied().unwrap_or(1);
    Finding::new(&room.file.path, line, "circle", advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the places of the findings in a crate of these files.
    fn check_files(files: &[(&str, &str)], expected: &[(&str, usize)]) {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found = check(&Tree::of(&files));
        let found: Vec<(&str, usize)> = found
            .iter()
            .map(|f| (f.path.strip_prefix("crates/x/src/").expect("a file of x"), f.line))
            .collect();
        assert_eq!(found, expected, "{files:?}");
    }

    const ROOT: (&str, &str) = ("lib.rs", "//! X.\nmod a;\nmod b;\nmod c;\n");
    const A: (&str, &str) = ("a.rs", "//! A.\nuse crate::b::B;\nstruct A;\n");

    #[test]
    fn two_files_that_use_each_other() {
        let b = ("b.rs", "//! B.\n\nuse super::a::A;\nstruct B;\n");
        check_files(&[ROOT, A, b], &[("lib.rs", 2), ("lib.rs", 3)]);
        check_files(&[ROOT, A, ("b.rs", "//! B.\nstruct B;\n")], &[]);
    }

    #[test]
    fn by_way_of_a_third() {
        let b = ("b.rs", "//! B.\nfn b() -> crate::c::d::D {}\nstruct B;\n");
        let c = ("c.rs", "//! C.\npub mod d;\n");
        let d = ("c/d.rs", "//! D.\nuse super::super::a::A;\nstruct D;\n");
        check_files(&[ROOT, A, b, c, d], &[("lib.rs", 2), ("lib.rs", 3), ("lib.rs", 4)]);
    }

    #[test]
    fn a_module_and_the_module_below_it() {
        let root = ("lib.rs", "//! X.\nmod a;\n");
        let up = ("a/b.rs", "//! B.\nuse super::A;\nstruct B;\n");
        let check_own = |text, expected: &[(&str, usize)]| {
            check_files(&[root, ("a.rs", text), up], expected);
        };
        check_own("//! A.\nmod b;\nstruct A;\n", &[]);
        check_own("//! A.\nmod b;\nuse b::B;\nstruct A;\n", &[("a.rs", 1), ("a.rs", 2)]);
        check_own("//! A.\nmod b;\nstruct A(b::B);\n", &[("a.rs", 1), ("a.rs", 2)]);
        check_own("//! A.\nmod b;\npub use b::B;\nstruct A;\n", &[]);
        check_own("//! A.\nmod b;\npub use b::B;\nstruct A(B);\n", &[("a.rs", 1), ("a.rs", 2)]);
        check_own("//! A.\nmod b;\npub use b::*;\nstruct A(B);\n", &[("a.rs", 1), ("a.rs", 2)]);
    }

    #[test]
    fn rooms_use_each_other_by_different_files() {
        let root = ("lib.rs", "//! X.\nmod a;\nmod b;\n");
        let a = ("a.rs", "//! A.\nmod one;\npub mod two;\n");
        let b = ("b.rs", "//! B.\nuse super::a::two::Two;\nstruct B;\n");
        let two = ("a/two.rs", "//! Two.\nstruct Two;\n");
        let one = |text| ("a/one.rs", text);
        check_files(
            &[root, a, b, two, one("//! One.\nuse crate::b::B;\n")],
            &[("lib.rs", 2), ("lib.rs", 3)],
        );
        check_files(&[root, a, b, two, one("//! One.\nuse super::two::Two;\n")], &[]);
    }

    #[test]
    fn names_are_followed_to_the_files_that_define_them() {
        let root = "//! X.\nmod a;\nmod b;\npub use b::B as C;\nuse a::{self, A};\n";
        let b = ("b.rs", "//! B.\nstruct B;\n");
        let check_a = |a, expected: &[(&str, usize)]| {
            check_files(&[("lib.rs", root), ("a.rs", a), b], expected);
        };
        check_a("//! A.\nuse crate::C;\nstruct A;\n", &[]);
        check_a("//! A.\nuse crate::D;\nstruct A;\n", &[("lib.rs", 1), ("lib.rs", 2)]);
        let back = ("b.rs", "//! B.\nuse crate::a;\nfn b() -> a::A {}\nstruct B;\n");
        let a = ("a.rs", "//! A.\nuse crate::C;\nstruct A;\n");
        check_files(&[("lib.rs", root), a, back], &[("lib.rs", 2), ("lib.rs", 3)]);
    }

    #[test]
    fn what_a_room_passes_on_from_beside_it_is_an_arrow() {
        let a = ("a.rs", "//! A.\npub use crate::b::B;\nstruct A;\n");
        let b = ("b.rs", "//! B.\nuse crate::a::A;\nstruct B;\n");
        check_files(&[ROOT, a, b], &[("lib.rs", 2), ("lib.rs", 3)]);
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let tests = "//! B.\nstruct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        check_files(&[ROOT, A, ("b.rs", tests)], &[]);
        let b = ("b.rs", "//! B.\n#[cfg(test)]\nmod double;\nstruct B;\n");
        check_files(&[ROOT, A, b, ("b/double.rs", "//! D.\nuse crate::a::A;\n")], &[]);
    }

    #[test]
    fn a_finding_shows_the_evidence_and_the_way_back() {
        let files = [
            ("crates/x/src/lib.rs", "//! X.\nmod a;\n"),
            ("crates/x/src/a.rs", "//! A.\nmod b;\nstruct A(b::B);\n"),
            ("crates/x/src/a/b.rs", "//! B.\nuse super::A;\nstruct B;\n"),
        ];
        let found = check(&Tree::of(&files));
        assert_eq!(
            found[1].to_string(),
            "crates/x/src/a.rs:2: circle: `b` uses this file (`A`, crates/x/src/a/b.rs:2), and the \
             way back is this file -> `b`: move what both need below both"
        );
    }
}
