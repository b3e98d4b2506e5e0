//! Names of steps: those of the file, or the last segments of the path.

use std::collections::HashSet;

use crate::scenario::import::recorded::RecordedStep;
use crate::scenario::import::template_text::BRACES;

/// Longest name that is made, in bytes; a number may follow.
const NAME_MAX_BYTES: usize = 80;

/// Gives each step a name of its own.
pub(super) fn give(steps: &mut [RecordedStep]) {
    let mut taken = HashSet::new();
    for step in steps {
        let given = fitting(&step.name);
        let name = match given.is_empty() {
            true => of_path(&step.target),
            false => given,
        };
        let with_method = format!("{} {name}", fitting(&step.method));
        let with_method = Some(with_method).filter(|_| step.method != "GET");
        let numbered = (2..).map(|number: u64| format!("{name} {number}"));
        let mut all = [name.clone()].into_iter().chain(with_method).chain(numbered);
        step.name = all.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(step.name.clone());
    }
}

/// Returns a name as scenario files accept it; it may be empty.
pub(super) fn fitting(name: &str) -> String {
    let name = name.replace(BRACES, "{{");
    let name = weir_text::printable(name.trim());
    let mut end = name.len().min(NAME_MAX_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].trim().to_owned()
}

/// Returns the last two segments of a path; segments that look like ids are `*`.
fn of_path(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let last = &segments[segments.len().saturating_sub(2)..];
    let shown: Vec<&str> = last.iter().map(|it| if is_id(it) { "*" } else { it }).collect();
    match fitting(&shown.join("/")) {
        name if name.is_empty() => "start".to_owned(),
        name => name,
    }
}

/// True for a segment that names one of many things: it has a field, or mostly digits.
fn is_id(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = segment.len() >= 6 && 3 * digits >= segment.len();
    segment.contains("{{") || digits == segment.len() || is_mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_of_the_path() {
        let step = |name: &str, method: &str, target: &str| RecordedStep {
            name: name.to_owned(),
            method: method.to_owned(),
            target: target.to_owned(),
            ..RecordedStep::default()
        };
        let mut steps = [
            step("", "GET", "/login?next=/"),
            step("", "POST", "/login"),
            step("", "POST", "/login"),
            step("", "GET", "/"),
            step("", "GET", "/api/orders/1a2b3c"),
            step("", "GET", "/api/v1/orders"),
            step(" Log in\n", "GET", "/x"),
        ];
        give(&mut steps);
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(
            names,
            ["login", "POST login", "login 2", "start", "orders/*", "v1/orders", "Log in"]
        );
    }
}
