//! The journey of one request: every symbol that ARCHITECTURE.md's table names exists in the code.

use super::finding::Finding;
use crate::source::{File, Tree, closing_brace, words};

const PAGE: &str = "ARCHITECTURE.md";
/// Text that identifies the header of the table.
const HEADER: &str = "what happens";
/// Mark of a row for planned symbols, which need not exist.
const PLANNED: &str = "(planned)";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::new(PAGE, 1, "journey", "the page is missing")];
    };
    let rows = rows(&page.text);
    if rows.is_empty() {
        let advice = format!("the table with a column `{HEADER}` is missing");
        return vec![Finding::new(PAGE, 1, "journey", advice)];
    }
    let mut findings = Vec::new();
    for (line, row) in rows {
        let missing: Vec<&str> = symbols(row).filter(|symbol| !exists(symbol, tree)).collect();
        let planned = row.contains(PLANNED);
        if !planned {
            let advice = |symbol| format!("`{symbol}` is nowhere in the code; correct the row");
            findings.extend(missing.iter().map(|s| Finding::new(PAGE, line, "journey", advice(s))));
        } else if missing.is_empty() {
            let advice = format!("it exists: take {PLANNED} away");
            findings.push(Finding::new(PAGE, line, "journey", advice));
        }
    }
    findings
}

/// Returns the rows of the table, with their line numbers.
fn rows(page: &str) -> Vec<(usize, &str)> {
    let lines = (1..).zip(page.lines());
    let is_header = |line: &str| line.starts_with('|') && line.contains(HEADER);
    let from_header = lines.skip_while(|(_, line)| !is_header(line));
    from_header.skip(2).take_while(|(_, line)| line.starts_with('|')).collect()
}

/// Returns the names in backquotes in the last column.
fn symbols(row: &str) -> impl Iterator<Item = &str> {
    let last_column = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or("");
    last_column.split('`').skip(1).step_by(2)
}

/// True if the code has `Type`, `Type::method`, or `some_crate::item`.
fn exists(symbol: &str, tree: &Tree) -> bool {
    let mut code = tree.rust().filter(|file| file.path.starts_with("crates/"));
    match symbol.split("::").collect::<Vec<_>>()[..] {
        [name] => name.starts_with(char::is_uppercase) && code.any(|file| has_item(file, name)),
        [name, method, ..] if name.starts_with(char::is_uppercase) => {
            code.any(|file| has_method(&file.masked.code, name, method))
        }
        [name, item, ..] => {
            let name = name.replace('_', "-");
            code.any(|file| file.crate_name() == name && has_item(file, item))
        }
        [] => false,
    }
}

fn has_item(file: &File, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "type", "mod"];
    kinds.iter().any(|kind| words(&file.masked.code, &format!("{kind} {name}")).next().is_some())
}

/// True if a block `impl … type_name …` or `trait type_name` has the function.
fn has_method(code: &str, type_name: &str, method: &str) -> bool {
    let blocks = ["impl", "trait"].into_iter().flat_map(|keyword| words(code, keyword));
    let declaration = format!("fn {method}");
    blocks.into_iter().any(|at| {
        let Some(length) = code[at..].find('{') else { return false };
        let open = at + length;
        let names_type = words(&code[at..open], type_name).next().is_some();
        names_type && words(&code[open..closing_brace(code, open)], &declaration).next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! A.\npub trait Backend {\n    fn wait(&mut self);\n}\nstruct Plan;\n\
                        impl<B: Backend> Worker<B> {\n    fn handle(&mut self) {}\n}\n\
                        impl Plan {\n    fn check() {}\n}\npub fn run() {}\n";

    fn check_row(row: &str, expected: usize) {
        let page =
            format!("# A\n\n| # | what happens | where |\n|---|---|---|\n{row}\n\n`Nothing`\n");
        let tree = Tree::of(&[(PAGE, &page), ("crates/weir-engine/src/lib.rs", CODE)]);
        let found = check(&tree);
        assert_eq!(found.len(), expected, "{found:?}");
        assert!(found.iter().all(|finding| finding.line == 5), "{found:?}");
    }

    #[test]
    fn what_exists_is_found() {
        check_row("| 1 | `Nowhere` does | `Worker::handle` → `Backend::wait`, `Plan` |", 0);
        check_row("| 1 | a | `weir_engine::run` |", 0);
    }

    #[test]
    fn what_is_missing_is_reported() {
        check_row("| 1 | a | `Worker::receive` → `Backend::send` |", 2);
        check_row("| 1 | a | `Worker::check` |", 1);
        check_row("| 1 | a | `Pla` |", 1);
        check_row("| 1 | a | `weir_io::run` |", 1);
    }

    #[test]
    fn planned_rows_are_excused_until_they_exist() {
        check_row("| 1 | a (planned) | `Worker::receive` |", 0);
        check_row("| 1 | a (planned) | `Worker::handle` |", 1);
    }

    #[test]
    fn a_missing_table_is_reported() {
        assert_eq!(check(&Tree::of(&[(PAGE, "# A\n")])).len(), 1);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
