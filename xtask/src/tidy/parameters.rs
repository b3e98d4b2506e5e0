//! One parameter takes one thing. A tuple hides how many arguments a function has, and its callers
//! read values whose names stand elsewhere.

use super::finding::Finding;
use crate::source::{File, Tree, functions, line_of, listed, typed};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| !file.is_tests()).flat_map(tuples).collect()
}

/// Returns a finding for each parameter of a function that is a tuple, outside tests.
fn tuples(file: &File) -> Vec<Finding> {
    let code = &file.masked.production;
    let mut findings = Vec::new();
    for function in functions(code) {
        let place = function.parameters;
        let parameters = listed(&code[place.clone()]);
        for (pattern, _) in parameters.into_iter().filter_map(typed).filter(|(_, of)| is_tuple(of))
        {
            let name = &function.name;
            let advice =
                format!("`{name}` takes a tuple as `{pattern}`: take each value, or a struct");
            let line = line_of(code, place.start);
            findings.push(Finding::new(&file.path, line, "parameters", advice));
        }
    }
    findings
}

/// True for a tuple of two or more, and a reference to one.
fn is_tuple(of: &str) -> bool {
    let mut of = of;
    while let Some(behind) = of.strip_prefix('&').or_else(|| of.strip_prefix("mut ")) {
        let behind = behind.trim_start();
        let lifetime = behind.split_once(' ').filter(|(word, _)| word.starts_with('\''));
        of = lifetime.map_or(behind, |(_, rest)| rest);
    }
    let inner = of.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| listed(inner).len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(code: &str, lines: &[usize]) {
        let found = check(&Tree::of(&[("crates/x/src/a.rs", code)]));
        let found: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "in {code}");
    }

    #[test]
    fn a_parameter_takes_one_thing() {
        check_code("fn f((a, b): (u8, u16)) {}\n", &[1]);
        check_code("impl A {\n    fn f(&self, a: (u8, u16)) {}\n}\n", &[2]);
        check_code("fn f<'a, T: G<u8>>(a: &'a mut (T, u16), b: &(u8, u8)) {}\n", &[1, 1]);
        check_code("fn f(\n    mut a: (\n        u8,\n        u16,\n    ),\n) {}\n", &[1]);
        for fine in [
            "fn f(a: u8, b: [u8; 2], c: &[(u8, u16)], d: (u8,), e: ()) -> (u8, u16) {}\n",
            "fn f(a: &(dyn G<u8, u16> + Send), b: impl Fn(u8, (u8, u8)) -> (u8, u8)) {}\n",
            "fn f(A { b, c }: A) {}\n",
            "trait T {\n    fn f(a: (u8, u16));\n}\n",
            "fn f() {\n    g(|(a, b): (u8, u16)| a);\n}\n",
            "#[cfg(test)]\nmod tests {\n    fn f(a: (u8, u16)) {}\n}\n",
        ] {
            check_code(fine, &[]);
        }
    }
}
