//! The order of a crate's rooms, as the table of ARCHITECTURE.md below "Rooms of" the crate has it:
//! a room uses only those that follow it. Names are followed to the files that define them, as for
//! circles.

use std::collections::BTreeSet;

use super::finding::Finding;
use crate::source::{Crate, Module, Room, Tree, crates};

const PAGE: &str = "ARCHITECTURE.md";
/// Begin of the heading of such a table; the crate's name and a backquote follow.
const HEADING: &str = "### Rooms of `";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |page| &page.text);
    let all = crates(tree);
    let named = |name: &str| all.iter().find(|one| root(one).file.crate_name() == name);
    let tables = page.split(HEADING).skip(1).filter_map(|section| section.split_once('`'));
    let ordered = tables.filter_map(|(name, table)| Some((named(name)?, rooms(table))));
    ordered.flat_map(|(within, order)| findings(within, &order)).collect()
}

/// Returns the rooms in the rows of the table that follows a heading.
fn rooms(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

/// Finds uses of a room by one below it, the first of each two, and rooms that the table lacks.
fn findings(within: &Crate, order: &[&str]) -> Vec<Finding> {
    let place = |room: &str| order.iter().position(|listed| *listed == room);
    let root = root(within);
    let missing = root.children.iter().filter(|(room, _)| place(room).is_none());
    let mut findings: Vec<Finding> = missing
        .map(|(room, line)| {
            let advice = format!("say in {PAGE} where `{room}` stands among the rooms");
            Finding::new(&root.file.path, *line, "room", advice)
        })
        .collect();
    let mut seen = BTreeSet::new();
    for mention in within.rooms.keys().flat_map(|from| within.mentions(from)) {
        let (Some(from), Some(to)) = (mention.from.first(), mention.to.first()) else { continue };
        let is_upward = place(to).is_some_and(|to| place(from).is_some_and(|from| from > to));
        if is_upward && seen.insert((from, mention.to[0].clone())) {
            let name = mention.name;
            let advice = format!("`{from}` uses `{name}` of `{to}`, which is above it in {PAGE}");
            let path = &within.rooms[mention.from].file.path;
            findings.push(Finding::new(path, mention.line, "room", advice));
        }
    }
    findings
}

fn root<'c, 'a>(within: &'c Crate<'a>) -> &'c Room<'a> {
    &within.rooms[&Module::new()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "### Rooms of `x`\n\nText.\n\n| room | content |\n|---|---|\n\
                         | `a` | the top |\n| `b` | the rest |\n\n| `c` | another table |\n";

    fn check_rooms(root: &str, b: &str, expected: &[(&str, usize)]) {
        let found = check(&Tree::of(&[
            (PAGE, TABLE),
            ("crates/x/src/lib.rs", root),
            ("crates/x/src/a.rs", "//! A.\nuse crate::b::B;\nstruct A;\n"),
            ("crates/x/src/b.rs", b),
            ("crates/x/src/c.rs", "//! C.\nstruct C;\n"),
        ]));
        let found: Vec<(&str, usize)> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_room_uses_only_those_below_it() {
        let root = "//! X.\nmod a;\nmod b;\n";
        check_rooms(root, "//! B.\nstruct B;\n", &[]);
        let upward = "//! B.\n\nuse crate::a::A;\nstruct B;\n";
        check_rooms(root, upward, &[("crates/x/src/b.rs", 3)]);
    }

    #[test]
    fn each_room_has_its_place() {
        let root = "//! X.\nmod a;\nmod b;\nmod c;\n";
        check_rooms(root, "//! B.\nstruct B;\n", &[("crates/x/src/lib.rs", 4)]);
    }
}
