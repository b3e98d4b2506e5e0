//! Users of scenarios: their durations are the sums of their steps and pauses, and everything adds
//! up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_engine::{
    Completion, Exchange, ExchangeObserver, Job, ListRows, ListedRequest, ObserverFactory, Outcome,
    RequestList, ResponseChecks, SlotPhase, UserPlan,
};
use weir_http::Prepared;
use weir_io::Nanos;
use weir_requests::expect::Expectations;
use weir_requests::list::{Order, Sequence, TemplateFields};
use weir_requests::scenario::{Scenario, ScenarioStep, Scenarios, SiteOrigin, ThinkTime};
use weir_result::{ListPlan, OutcomeClass, Plan, ResultCounts, ScenarioPlan, StepPlan, UsersPlan};
use weir_sim::{Pause, Random, Seed, Server, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::setup::{MS, Run, check_all, closed, document, job, open, run_job, serving};

pub(crate) fn step(name: &str, think_ns: u64) -> ScenarioStep {
    ScenarioStep {
        name: name.to_owned(),
        think: ThinkTime::Fixed(think_ns),
        repeat: 1,
        chance: 1.0,
        ..ScenarioStep::default()
    }
}

pub(crate) fn scenario(name: &str, weight: u32, steps: Vec<ScenarioStep>) -> Scenario {
    Scenario { name: name.to_owned(), weight, steps }
}

/// Numbers the steps of scenarios as rows.
pub(crate) fn numbered(mut all: Vec<Scenario>) -> Scenarios {
    let steps = all.iter_mut().flat_map(|scenario| &mut scenario.steps);
    (0..).zip(steps).for_each(|(row, step)| step.row = row);
    Scenarios { all, ..Scenarios::default() }
}

/// Returns the scenarios as they count: of sessions the longest for all.
fn counted(scenarios: &Scenarios) -> Vec<&Scenario> {
    match scenarios.are_sessions {
        true => scenarios.all.iter().max_by_key(|it| it.steps.len()).into_iter().collect(),
        false => scenarios.all.iter().collect(),
    }
}

/// Returns the job of a plan whose requests are the steps of scenarios, and the plan with them.
pub(crate) fn job_of(plan: &Plan, scenarios: Scenarios, users: u32) -> Job {
    following_job(plan, scenarios, users, 0)
}

/// Returns the names of the steps of scenarios, of their redirected requests if these are followed,
/// and of the scenarios.
fn names_of(scenarios: &[&Scenario], follows: bool) -> Vec<String> {
    let of_steps = scenarios.iter().flat_map(|it| &it.steps).map(|step| step.name.clone());
    let mut names: Vec<String> = of_steps.collect();
    if follows {
        names.extend_from_within(..);
    }
    names.extend(scenarios.iter().map(|it| it.name.clone()));
    names
}

/// Returns such a job whose users follow at most so many redirects.
fn following_job(plan: &Plan, scenarios: Scenarios, users: u32, redirects: u8) -> Job {
    let counted = counted(&scenarios);
    let names = names_of(&counted, redirects > 0);
    let places: Vec<usize> = (0..)
        .zip(&scenarios.all)
        .flat_map(|(number, it)| {
            let scenarios = &scenarios;
            (0..it.steps.len() as u16).map(move |step| scenarios.place_of(number, step))
        })
        .collect();
    let steps = places.len();
    let request = |row: usize| {
        let request = Prepared::http1("GET", &format!("/{row}"), "sim", &[], None);
        let request = request.expect("a plain request");
        let template = TemplateFields::default().template(request.bytes()).with_cookies();
        let template = Some(Arc::new(template));
        let name = places[row] as u16;
        ListedRequest { request, name, template, encoder: None, message: None }
    };
    let weights: Vec<u32> = scenarios.all.iter().map(|scenario| scenario.weight).collect();
    let of_step = |step: &ScenarioStep| StepPlan {
        name: step.name.clone(),
        turns: step.repeat,
        think_mean_ns: step.think.mean_ns(),
    };
    let of_scenario = |scenario: &Scenario| ScenarioPlan {
        name: scenario.name.clone(),
        weight: scenario.weight,
        steps: scenario.steps.iter().map(of_step).collect(),
    };
    let with_intervals: Vec<u16> = (0..names.len() as u16).collect();
    let list_plan = ListPlan {
        names: names.clone(),
        with_intervals: with_intervals.clone(),
        users: Some(UsersPlan {
            at_a_time: users,
            scenarios: counted.into_iter().map(of_scenario).collect(),
        }),
        redirects,
        ..ListPlan::default()
    };
    let expect = Some(weir_result::ExpectPlan::default());
    let plan = Plan { list: Some(list_plan), expect, ..plan.clone() };
    let list = RequestList {
        rows: ListRows::Prepared((0..steps).map(request).collect()),
        sequence: Sequence::weighted(Order::Sequential, &weights).expect("small weights"),
        names: names.len() as u16,
        with_slices: with_intervals,
        seed: 5,
        table: None,
        users: Some(Arc::new(UserPlan {
            scenarios,
            users,
            origin: SiteOrigin::default(),
            shared: Arc::default(),
            redirects,
            has_scenarios: true,
        })),
    };
    let checks = Arc::new(Expectations::new(&[], &[]).expect("none contradict"));
    let rows = vec![checks; steps];
    let checks = ResponseChecks::of_rows(rows, names.len() as u16, 0, 1_000);
    let mut job = job(&plan);
    job.requests.list = Some(Arc::new(list));
    job.responses.expectations = Some(Arc::new(checks));
    job
}

/// The ends of exchanges, in order.
type Ends = Vec<(Exchange, Outcome, Nanos)>;

/// The ends of all exchanges of one worker by connection.
#[derive(Clone, Debug, Default)]
struct Journal(Arc<Mutex<BTreeMap<u32, Ends>>>);

impl Journal {
    fn factory(&self) -> ObserverFactory {
        let journal = self.clone();
        ObserverFactory::new(move |_worker| Box::new(journal.clone()))
    }
}

impl ExchangeObserver for Journal {
    fn completed(&mut self, completion: &Completion) {
        let Completion { conn, exchange, outcome, at, .. } = *completion;
        let mut all = self.0.lock().expect("no observer panicked");
        all.entry(conn.0).or_default().push((exchange, outcome, at));
    }
}

/// One user as the journal has it.
#[derive(Debug)]
struct TrueUser {
    scenario: usize,
    is_measured: bool,
    due_at: Nanos,
    ended_at: Nanos,
    answered_ns: u64,
    /// The last request, and its outcome.
    row: u16,
    outcome: Outcome,
}

/// Puts the exchanges of each connection together to users, one after the other, who have all taken
/// their first step. Checks that each step was due when the pause behind the one before was over.
fn users_of(journal: &Journal, scenarios: &Scenarios, seed: u64) -> Vec<TrueUser> {
    let mut users = Vec::new();
    let all = journal.0.lock().expect("no observer panicked");
    let first: Vec<u16> = scenarios.all.iter().map(|scenario| scenario.steps[0].row).collect();
    let steps: Vec<&ScenarioStep> = scenarios.steps().collect();
    for exchanges in all.values() {
        let mut last: Option<(u16, Nanos)> = None;
        // A redirected exchange is a part of the one that ends its step.
        let ends = exchanges.iter().filter(|(exchange, ..)| exchange.tag == exchange.row);
        for (exchange, outcome, at) in ends {
            let row = exchange.row;
            match (first.iter().position(|first| *first == row), last) {
                (Some(scenario), _) => users.push(TrueUser {
                    scenario,
                    is_measured: exchange.phase == SlotPhase::Measured,
                    due_at: exchange.intended_at,
                    ended_at: *at,
                    answered_ns: 0,
                    row,
                    outcome: *outcome,
                }),
                (None, Some((before, ended_at))) => {
                    let think_ns = steps[usize::from(before)].think.mean_ns();
                    let due_at = ended_at.after(think_ns);
                    assert_eq!(exchange.intended_at, due_at, "seed {seed}: {row} after {before}");
                    assert!(row >= before, "seed {seed}: {row} after {before}");
                }
                (None, None) => panic!("seed {seed}: the first step is {row}"),
            }
            let user = users.last_mut().expect("it began");
            user.ended_at = *at;
            user.row = row;
            user.outcome = *outcome;
            user.answered_ns += at.since(exchange.intended_at);
            last = Some((row, *at));
        }
    }
    users
}

/// Checks the results by scenario against the users of the journal.
fn check_users(run: &Run, job: &Job, journal: &Journal, seed: u64) -> u64 {
    let list = job.requests.list.as_ref().expect("there are scenarios");
    let scenarios = &list.users.as_ref().expect("there are users").scenarios;
    let users = users_of(journal, scenarios, seed);
    let mut ended = 0;
    for (number, scenario) in scenarios.all.iter().enumerate() {
        let before = run.measured.names.len() - scenarios.all.len();
        let counts = &run.measured.names[before + number];
        let what =
            |part: &str| format!("seed {seed}: {}: {part}: {:?}", scenario.name, counts.outcomes);
        let last = scenario.steps.last().expect("it has steps").row;
        let own = || users.iter().filter(|user| user.scenario == number && user.is_measured);
        let failed =
            |class: OutcomeClass| own().filter(|user| user.outcome.class() == class).count() as u64;
        for class in
            [OutcomeClass::BadResponse, OutcomeClass::TransportError, OutcomeClass::TimedOut]
        {
            assert_eq!(counts.outcomes.of(class), failed(class), "{}", what(class.name()));
        }
        let times = counts.response_time.ok.exact();
        let answered = counts.service_time.ok.exact();
        // The last step is certain, so that users who took it to a good end are through.
        let is_through = |user: &&TrueUser| matches!(user.outcome, Outcome::Ok(_));
        let through: Vec<&TrueUser> = own().filter(is_through).collect();
        let completed: Vec<&&TrueUser> = through.iter().filter(|user| user.row == last).collect();
        assert_eq!(counts.outcomes.ok, completed.len() as u64, "{}", what("completed"));
        let sum =
            |of: fn(&TrueUser) -> u64| completed.iter().map(|user| u128::from(of(user))).sum();
        let duration: u128 = sum(|user| user.ended_at.since(user.due_at));
        assert_eq!(times.sum_ns, duration, "{}", what("durations"));
        let responses: u128 = sum(|user| user.answered_ns);
        assert_eq!(answered.sum_ns, responses, "{}", what("without pauses"));
        ended += counts.outcomes.ok;
    }
    ended
}

/// Two scenarios of three and two steps, with pauses that fit a window of 100 ms. The first and the
/// last step of each are certain.
fn random_scenarios(random: &mut Random) -> Scenarios {
    let mut think = || random.between(0, 3) * MS / 2;
    let mut middle = step("b", think());
    let scenarios = vec![
        scenario("one", 1, vec![step("a", think()), middle.clone(), step("c", think())]),
        scenario("two", 2, vec![step("x", think()), step("y", think())]),
    ];
    middle.repeat = random.between(1, 3) as u16;
    middle.chance = [1.0, 0.5][random.between(0, 1) as usize];
    let mut scenarios = numbered(scenarios);
    scenarios.all[0].steps[1] = ScenarioStep { row: 1, ..middle };
    scenarios
}

/// Random worlds with all kinds of faults.
#[test]
fn durations_are_steps_and_pauses_in_wild_worlds() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let mut ended = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 206);
        let (plan, number, stop_at) = random_plan(&mut random);
        let plan = plan.with_load(|load| load.pipeline = 1);
        let users = plan.load.connections.most();
        let mut job = job_of(&plan, random_scenarios(&mut random), users);
        let journal = Journal::default();
        job.observers.push(journal.factory());
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job, number, stop_at, None);
        ended += check_users(&run, &job, &journal, seed);
        document(&job.plan, run.measured);
    }
    assert!(ended >= seeds, "{ended} users who ended in {seeds} runs say nothing");
}

/// The same with a server that redirects, up to the limit and beyond it.
#[test]
fn durations_have_the_redirects_of_their_steps_in_wild_worlds() {
    let mut ended = 0;
    let mut redirected = 0;
    let seeds = setting("WEIR_SIM_SEEDS", 200);
    for seed in 0..seeds {
        let mut random = Random::new(Seed(seed), 208);
        let (plan, number, stop_at) = random_plan(&mut random);
        let plan = plan.with_load(|load| load.pipeline = 1);
        let users = plan.load.connections.most();
        let mut job = following_job(&plan, random_scenarios(&mut random), users, 2);
        let journal = Journal::default();
        job.observers.push(journal.factory());
        let mut world = World::wild(Seed(seed), SPAN_NS);
        let statuses = &mut world.server.responses.statuses;
        statuses.extend([(302, 1.0), (303, 0.5), (307, 0.5)]);
        let run = run_job(world, &job, number, stop_at, None);
        ended += check_users(&run, &job, &journal, seed);
        let names = &run.measured.names;
        let redirects = names.iter().skip((names.len() - 2) / 2).take((names.len() - 2) / 2);
        redirected += redirects.map(|name| name.outcomes.ok).sum::<u64>();
        document(&job.plan, run.measured);
    }
    assert!(ended >= seeds && redirected >= seeds, "{ended} users, {redirected} redirects");
}

/// Sessions of one to four turns count as one scenario. After a turn that is ok comes the next one
/// of its session, on the same connection.
#[test]
fn sessions_of_all_lengths_add_up_in_wild_worlds() {
    let mut turns = 0;
    for seed in 0..setting("WEIR_SIM_SEEDS", 100) {
        let mut random = Random::new(Seed(seed), 207);
        let (plan, number, stop_at) = random_plan(&mut random);
        let plan = plan.with_load(|load| load.pipeline = 1);
        let turn = |number: u64| step(&format!("turn {number}"), MS / 2);
        let session = |length: u64| scenario("session", 1, (1..=length).map(turn).collect());
        let all: Vec<Scenario> = (0..7).map(|_| session(random.between(1, 4))).collect();
        let scenarios = Scenarios { are_sessions: true, ..numbered(all) };
        let last: Vec<u16> = scenarios
            .all
            .iter()
            .map(|session| session.steps[session.steps.len() - 1].row)
            .collect();
        let mut job = job_of(&plan, scenarios, plan.load.connections.most());
        let journal = Journal::default();
        job.observers.push(journal.factory());
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job, number, stop_at, None);
        for exchanges in journal.0.lock().expect("no observer panicked").values() {
            for [(before, outcome, _), (after, ..)] in exchanges.array_windows() {
                let goes_on = matches!(outcome, Outcome::Ok(_)) && !last.contains(&before.row);
                assert!(!goes_on || after.row == before.row + 1, "seed {seed}: {before:?}");
                turns += u64::from(goes_on);
            }
        }
        document(&job.plan, run.measured);
    }
    assert!(turns > 1_000, "{turns}");
}

#[test]
fn arrivals_of_an_open_loop_are_exact() {
    let scenarios = numbered(vec![scenario("s", 1, vec![step("a", 10 * MS), step("b", 0)])]);
    let job = job_of(&open(200, 1, 20), scenarios, 20);
    let run = run_job(serving(MS), &job, 0, Nanos::MAX, None);
    let names = &run.measured.names;
    assert_eq!((names[0].planned, names[2].planned), (200, 200));
    check_all("send lag", &run.measured.send_lag.ok, run.measured.results.planned, 0);
    check_all("duration", &names[2].response_time.ok, 200, 12 * MS);
    check_all("without pauses", &names[2].service_time.ok, 200, 2 * MS);
    // The second steps of the last two users are due after the window, and two further users arrive
    // before these have ended.
    assert_eq!((names[1].planned, run.measured.sent.tail), (198, 4));
    document(&job.plan, run.measured);
}

/// All users who were due while the server stood still have it in their durations, also those for
/// whom no seat was free.
#[test]
fn a_stall_is_in_the_durations_of_all_who_were_due() {
    let stall_ns = 300 * MS;
    let from = Nanos(5_002_000 + 400 * MS);
    let server = Server { stalls: vec![Pause::new(from, stall_ns)], ..serving(MS).server };
    let world = World { server, ..serving(MS) };
    let scenarios = numbered(vec![scenario("s", 1, vec![step("a", 10 * MS), step("b", 0)])]);
    let job = job_of(&open(100, 1, 4), scenarios, 4);
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let durations = &run.measured.names[2].response_time.ok;
    assert_eq!(durations.count(), 100);
    // Users are due every 10 ms; 30 of them during the stall.
    let slow: u64 = durations
        .buckets()
        .filter(|(bucket, _)| weir_result::histogram::lowest_in(*bucket) > 13 * MS)
        .map(|(_, count)| count)
        .sum();
    assert!((30..=60).contains(&slow), "{slow}");
    assert!(durations.exact().max_ns >= stall_ns, "{:?}", durations.exact());
    document(&job.plan, run.measured);
}

/// In a closed loop a user begins again when it has ended and thought.
#[test]
fn users_of_a_closed_loop_begin_again() {
    let scenarios = numbered(vec![scenario("s", 1, vec![step("a", 9 * MS), step("b", 9 * MS)])]);
    let job = job_of(&closed(5), scenarios, 5);
    let run = run_job(serving(MS), &job, 0, Nanos::MAX, None);
    let users = &run.measured.names[2];
    // A round takes 20 ms.
    assert_eq!(users.planned, 250);
    check_all("duration", &users.response_time.ok, users.outcomes.ok, 11 * MS);
    document(&job.plan, run.measured);
    let plan = closed(5).with_load(|load| {
        load.duration_ns = None;
        load.requests = Some(123);
    });
    let scenarios = numbered(vec![scenario("s", 1, vec![step("a", 9 * MS), step("b", MS)])]);
    let job = job_of(&plan, scenarios, 5);
    let run = run_job(serving(MS), &job, 0, Nanos::MAX, None);
    let counts = |name: usize| run.measured.names[name].outcomes.ok;
    assert_eq!((counts(0), counts(1), counts(2)), (123, 123, 123));
    document(&job.plan, run.measured);
}

/// Returns the users who failed.
pub(crate) fn failed(users: &ResultCounts) -> u64 {
    let outcomes = &users.outcomes;
    outcomes.bad_response + outcomes.transport_error + outcomes.timed_out
}

/// A user whose connection is lost between two steps goes on with the next one.
#[test]
fn users_survive_connections_that_close_in_between() {
    let steps = vec![step("a", 20 * MS), step("b", 0)];
    let mut world = serving(MS);
    world.server.idle_close_ns = Some(12 * MS);
    let job = job_of(&closed(2), numbered(vec![scenario("s", 1, steps)]), 2);
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let users = &run.measured.names[2];
    assert!(users.outcomes.ok > 80, "{:?}", users.outcomes);
    assert_eq!(failed(users), 0, "{:?}", users.outcomes);
    assert!(run.measured.connections.connects > 40);
    document(&job.plan, run.measured);
}
