//! Scenarios: users that send several requests one after the other, think in between, and keep
//! cookies and values of responses.
//!
//! The text of a file becomes [`Scenarios`] and the rows of a list, one for each step. Which step a
//! user takes next is a pure function of the user's number, of a seed, and of the values that the
//! user has.
//!
//! ```
//! use weir_requests::scenario::ScenarioFile;
//!
//! let text = r#"
//! [[scenario]]
//! name = "shop"
//!
//! [[scenario.step]]
//! name = "login"
//! url = "/login"
//! json = { user = "{{csv:user}}" }
//! capture = { token = "json:/token" }
//! think = "1s..3s"
//!
//! [[scenario.step]]
//! name = "cart"
//! url = "/cart"
//! headers = { Authorization = "Bearer {{user.token}}" }
//! "#;
//! let file = ScenarioFile::parse(text)?;
//! assert_eq!(file.rows.len(), 2);
//! let shop = &file.scenarios.all[0];
//! assert_eq!((&*shop.name, &*shop.steps[1].name), ("shop", "cart"));
//! # Ok::<(), weir_requests::list::RowError>(())
//! ```

mod import;

mod conversation;
mod file;
mod file_value;
mod known_values;
mod sessions;

mod capture;
mod cookie_date;
mod cookies;
mod draws;
mod memory;
mod origin;
mod plan;
mod redirect;
mod think;
mod turn;

pub use capture::{AnsweredRequest, CaptureRule, NoValue, SentIn, ValueSource};
pub use cookies::CookieJar;
pub use draws::UserDraws;
pub use file::{ScenarioFile, Setup};
pub use import::{ImportFormat, ImportRules, ImportedScenario};
pub use memory::{MissingValue, UserMemory};
pub use origin::SiteOrigin;
pub use plan::{Scenario, ScenarioStep, Scenarios, StepCondition};
pub use redirect::{Redirect, RedirectHop, path_of};
pub use think::ThinkTime;
pub use turn::StepTurn;
