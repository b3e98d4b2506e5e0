//! Scenarios as a load carries them out, and the way of a user through the steps of one.

use weir_http::Interest;

use crate::scenario::draws::{Decision, UserDraws, share};
use crate::scenario::{CaptureRule, StepTurn, ThinkTime, ValueSource};

/// Greatest number of different captured values.
const VALUES_MAX: usize = 64;

/// The scenarios of a run.
#[derive(Clone, Debug, Default)]
pub struct Scenarios {
    /// Each of them, at least one.
    pub all: Vec<Scenario>,
    /// Names of the values that steps capture, in the order of their numbers.
    pub values: Vec<String>,
    /// True if each is a session of a list: they count as one scenario, whose steps are their
    /// turns.
    pub are_sessions: bool,
}

/// The steps of one kind of user.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// Name.
    pub name: String,
    /// Users in one pass over the scenarios, at least 1.
    pub weight: u32,
    /// Steps in order, at least one of which each user takes.
    pub steps: Vec<ScenarioStep>,
}

/// A step of a scenario: a request, and the time after its response.
#[derive(Clone, Debug, Default)]
pub struct ScenarioStep {
    /// Name.
    pub name: String,
    /// Index of its request among the rows.
    pub row: u16,
    /// Pause after its response.
    pub think: ThinkTime,
    /// Times that it is taken one after the other, at least 1.
    pub repeat: u16,
    /// Share of the users who take it, above 0 and at most 1.
    pub chance: f64,
    /// Condition of taking it; `None` if there is none.
    pub when: Option<StepCondition>,
    /// Values that are kept of its response.
    pub captures: Vec<CaptureRule>,
    /// Place of the model's answer in its response, which the conversation keeps; `None` if it
    /// keeps none.
    pub answer: Option<ValueSource>,
}

/// A condition on a captured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCondition {
    /// Number of the value, which has to be there.
    pub value: usize,
    /// Text that it has to equal; `None` for any.
    pub equals: Option<String>,
}

impl Scenarios {
    /// Returns the steps of all scenarios, in the order of their rows.
    pub fn steps(&self) -> impl Iterator<Item = &ScenarioStep> {
        self.all.iter().flat_map(|scenario| &scenario.steps)
    }

    /// Returns the number of the captured value with a name, which is new or known.
    ///
    /// # Errors
    /// If there are too many values.
    pub(super) fn number_of_value(&mut self, name: &str) -> Result<usize, String> {
        match self.values.iter().position(|known| known == name) {
            Some(number) => Ok(number),
            None if self.values.len() == VALUES_MAX => {
                Err(format!("a file has at most {VALUES_MAX} values"))
            }
            None => {
                self.values.push(name.to_owned());
                Ok(self.values.len() - 1)
            }
        }
    }

    /// Returns the number of scenarios that they count as.
    pub fn counted(&self) -> usize {
        if self.are_sessions { 1 } else { self.all.len() }
    }

    /// Returns the index of the one that a scenario counts as.
    pub fn counted_as(&self, scenario: u16) -> u16 {
        if self.are_sessions { 0 } else { scenario }
    }

    /// Returns the number of steps that are counted, of all scenarios.
    pub fn places(&self) -> usize {
        match self.are_sessions {
            true => self.all.iter().map(|session| session.steps.len()).max().unwrap_or_default(),
            false => self.steps().count(),
        }
    }

    /// Returns the index of the step that a scenario's step counts as.
    pub fn place_of(&self, scenario: u16, step: u16) -> usize {
        match self.are_sessions {
            true => step.into(),
            false => self.all[usize::from(scenario)].steps[usize::from(step)].row.into(),
        }
    }

    /// Returns the part of each response that captures and cookies need.
    pub fn interest(&self) -> Interest {
        let captures = self.steps().flat_map(|step| &step.captures);
        let answers = self.steps().filter_map(|step| step.answer.as_ref());
        let mut sources = captures.map(|capture| &capture.source).chain(answers);
        match sources.any(ValueSource::reads_body) {
            true => Interest::Body,
            false => Interest::Head,
        }
    }
}

impl Scenario {
    /// Returns the turn that follows `last` for a user with these values, the first one without
    /// it; `None` at the end. Indices of steps that the user does not take are passed to `skipped`.
    pub fn next(
        &self,
        last: Option<StepTurn>,
        draws: UserDraws,
        values: &[Option<Box<[u8]>>],
        mut skipped: impl FnMut(u16),
    ) -> Option<StepTurn> {
        let mut step = 0;
        if let Some(StepTurn { step: taken, visit }) = last {
            let repeat = self.steps.get(usize::from(taken)).map_or(1, |step| step.repeat);
            if visit + 1 < repeat {
                return Some(StepTurn { step: taken, visit: visit + 1 });
            }
            step = taken + 1;
        }
        while let Some(next) = self.steps.get(usize::from(step)) {
            let turn = StepTurn { step, visit: 0 };
            if next.is_taken(turn, draws, values) {
                return Some(turn);
            }
            skipped(step);
            step += 1;
        }
        None
    }

    /// Returns the pause after the response of a turn, in nanoseconds.
    pub fn think_ns(&self, turn: StepTurn, draws: UserDraws) -> u64 {
        let think = self.steps[usize::from(turn.step)].think;
        think.span_ns(draws.draw(turn, Decision::Think))
    }
}

impl ScenarioStep {
    /// True if each user takes it.
    pub fn is_certain(&self) -> bool {
        self.chance >= 1.0 && self.when.is_none()
    }

    fn is_taken(&self, turn: StepTurn, draws: UserDraws, values: &[Option<Box<[u8]>>]) -> bool {
        let is_met = self.when.as_ref().is_none_or(|when| when.is_met(values));
        is_met && (self.chance >= 1.0 || share(draws.draw(turn, Decision::Chance)) < self.chance)
    }
}

impl StepCondition {
    /// True for a user with these values.
    pub fn is_met(&self, values: &[Option<Box<[u8]>>]) -> bool {
        let value = values.get(self.value).and_then(Option::as_deref);
        match (value, &self.equals) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(value), Some(expected)) => value == expected.as_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> ScenarioStep {
        ScenarioStep { name: name.to_owned(), repeat: 1, chance: 1.0, ..ScenarioStep::default() }
    }

    fn draws(user: u64) -> UserDraws {
        UserDraws { seed: 3, user }
    }

    /// Returns the names of the steps that a user takes, and of those that it skips.
    fn walk(scenario: &Scenario, user: u64, values: &[Option<Box<[u8]>>]) -> [Vec<String>; 2] {
        let mut taken = Vec::new();
        let mut skipped = Vec::new();
        let name = |step: u16| scenario.steps[usize::from(step)].name.clone();
        let mut last = None;
        while let Some(turn) =
            scenario.next(last, draws(user), values, |step| skipped.push(name(step)))
        {
            taken.push(name(turn.step));
            last = Some(turn);
        }
        [taken, skipped]
    }

    #[test]
    fn users_take_the_steps_in_order() {
        let steps = vec![step("a"), ScenarioStep { repeat: 3, ..step("b") }, step("c")];
        let scenario = Scenario { steps, ..Scenario::default() };
        let [taken, skipped] = walk(&scenario, 0, &[]);
        assert_eq!((taken.concat(), skipped.concat()), ("abbbc".to_owned(), String::new()));
    }

    #[test]
    fn a_condition_needs_its_value() {
        let when = |equals: Option<&str>| {
            Some(StepCondition { value: 1, equals: equals.map(str::to_owned) })
        };
        let steps = vec![
            step("a"),
            ScenarioStep { when: when(None), ..step("b") },
            ScenarioStep { when: when(Some("gold")), ..step("c") },
        ];
        let scenario = Scenario { steps, ..Scenario::default() };
        let value = |text: &str| [None, Some(text.as_bytes().into())];
        for (values, expected) in [
            (&[None, None][..], ["a", "bc"]),
            (&value("gold"), ["abc", ""]),
            (&value("Gold"), ["ab", "c"]),
            (&[], ["a", "bc"]),
        ] {
            assert_eq!(walk(&scenario, 0, values).map(|steps| steps.concat()), expected);
        }
    }

    #[test]
    fn a_chance_is_a_share_of_the_users_and_stays_the_same_for_one() {
        let steps = vec![step("a"), ScenarioStep { chance: 0.3, repeat: 2, ..step("b") }];
        let scenario = Scenario { steps, ..Scenario::default() };
        let of = |user| walk(&scenario, user, &[])[0].concat();
        let takes = (0..10_000).filter(|user| of(*user) == "abb").count();
        // Five standard errors of a share of 0.3.
        assert!((2_771..=3_229).contains(&takes), "{takes}");
        assert!((0..100).all(|user| of(user) == of(user)));
        assert!((0..100).all(|user| ["a", "abb"].contains(&&*of(user))));
    }
}
