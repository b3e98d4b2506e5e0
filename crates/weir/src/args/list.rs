//! The flags of a list of requests.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weir_result::ListOrder;
use weir_runner::{InputFile, ListSource, ListSpec, RowsOrder, TemplateSpec};

use super::load::{LoadArgs, draw_seed};
use super::wrong::wrong;

/// Heading of the flags.
const HEADING: &str = "Lists";

/// The flags of a list.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct RequestListArgs {
    /// Send the requests of this list in turn; -: standard input. One URL or path on each line,
    /// JSON lines, targets of vegeta, curl commands or a HAR file
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) from: Option<PathBuf>,
    /// Users who take the steps of this file in order, keep cookies and values of responses, and
    /// think in between; -c is the users at a time, -R the rate at which they arrive
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["script", "from", "body_lines"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Format of the list: urls, jsonl, vegeta-http, vegeta-json, curl or har [default: recognised
    /// by its content]
    #[arg(long, value_name = "FORMAT", requires = "from")]
    from_format: Option<String>,
    /// Order of the requests of a list: file order round and round, at random by weight, or each
    /// once
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = OrderChoice::Sequential)]
    order: OrderChoice,
    /// Leave out the requests of a list that have another origin than the URL, and count them
    #[arg(long)]
    skip_other_origins: bool,
    /// Read the files and variables of this machine that the list names: curl's and vegeta's @FILE,
    /// {{file:PATH}}, {{env:NAME}}
    #[arg(long)]
    allow_local: bool,
    /// Send each line of this file as a body, in turn
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["script", "from", "body", "body_size", "form_fields"])]
    body_lines: Option<PathBuf>,
    /// CSV with a line of names, for {{csv:COLUMN}} in URL, headers, --body and lists
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    rows: Option<PathBuf>,
    /// Order in which requests take the rows of --rows: in file order, at random, or one for each
    /// connection
    #[arg(long, value_enum, value_name = "ORDER", requires = "rows",
          default_value_t = RowsOrderChoice::Sequential)]
    rows_order: RowsOrderChoice,
    /// Fill in {{seq}}, {{rand:1:9}}, {{uuid}} and {{csv:COLUMN}} in lists of vegeta, curl and HAR
    /// too
    #[arg(long, requires = "from")]
    templates: bool,
    /// Count requests to these paths under one name, 'GET /item/*'; repeatable
    #[arg(long = "group", value_name = "METHOD PATH")]
    groups: Vec<String>,
}

/// `--order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderChoice {
    /// File order, round and round
    #[default]
    Sequential,
    /// At random, by weight
    Random,
    /// File order, each request once
    Once,
}

/// `--rows-order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsOrderChoice {
    /// File order, round and round
    #[default]
    Sequential,
    /// At random
    Random,
    /// Each connection has its own
    Unique,
}

impl RequestListArgs {
    /// True if the list is sent at random.
    pub(super) fn is_random(&self) -> bool {
        self.order == OrderChoice::Random
    }

    /// True if a file has the requests.
    fn has_file(&self) -> bool {
        self.from.is_some() || self.body_lines.is_some() || self.scenario.is_some()
    }

    /// Returns the templates of the specification. `may_have_fields` is true if a text of the
    /// command line may have fields; `seed` is that of the load.
    pub(super) fn templates(&self, may_have_fields: bool, seed: Option<u64>) -> TemplateSpec {
        let may_have_fields = may_have_fields || self.has_file() || self.rows.is_some();
        TemplateSpec {
            seed: if may_have_fields { seed.unwrap_or_else(draw_seed) } else { 0 },
            rows: self.rows.as_ref().map(InputFile::at),
            order: match self.rows_order {
                RowsOrderChoice::Sequential => RowsOrder::Sequential,
                RowsOrderChoice::Random => RowsOrder::Random,
                RowsOrderChoice::Unique => RowsOrder::Unique,
            },
            everywhere: self.templates,
        }
    }

    /// Returns the patterns of requests that share a name.
    pub(super) fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Checks the flags beside those of the load; `urls` is the number of URLs of the command line,
    /// and `is_replay` is true if a log is replayed, which has names too.
    ///
    /// # Errors
    /// When one has no list, or has no use with another.
    pub(super) fn check(
        &self,
        load: &LoadArgs,
        urls: usize,
        may_have_fields: bool,
        is_replay: bool,
    ) -> Result<(), clap::Error> {
        let has_file = self.has_file();
        let may_have_fields = may_have_fields || has_file;
        if has_file && urls > 1 {
            let flag = if self.scenario.is_some() { "--scenario" } else { "--from" };
            return Err(wrong(format!(
                "{flag} has the requests: give one URL at most, that of the server"
            )));
        }
        let has_list = has_file || urls > 1;
        if self.allow_local && self.from.is_none() && self.scenario.is_none() {
            return Err(wrong(
                "--allow-local is for the files that a list names: give --from FILE",
            ));
        }
        if self.scenario.is_some()
            && (self.order != OrderChoice::Sequential || !self.groups.is_empty())
        {
            return Err(wrong(
                "--scenario has the order and the names of its steps: leave out --order and \
                 --group",
            ));
        }
        let flags = [
            ("--order", self.order != OrderChoice::Sequential),
            ("--group", !self.groups.is_empty() && !is_replay),
            ("--skip-other-origins", self.skip_other_origins),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given && !has_list) {
            return Err(wrong(format!("{flag} is for a list: give --from FILE or several URLs")));
        }
        if load.seed.is_some()
            && !load.is_open_loop()
            && !may_have_fields
            && self.order != OrderChoice::Random
        {
            return Err(wrong(
                "--seed is for random arrivals, a random order or templates: give -R, or --order \
                 random",
            ));
        }
        if self.order == OrderChoice::Random && load.part.is_given() && load.seed.is_none() {
            return Err(wrong("--part needs --seed with --order random: the same on each machine"));
        }
        let is_limited = load.duration.is_some() || load.requests.is_some();
        if self.order == OrderChoice::Once && (is_limited || load.warmup.is_some()) {
            return Err(wrong(
                "--order once ends when each request was sent: leave out -d, -n and --warmup",
            ));
        }
        Ok(())
    }

    /// Returns the list of the specification; `urls` are those of the command line behind the
    /// first, if they are no words for a script. `seed` is that of `--seed`.
    pub(super) fn spec(&self, urls: Vec<String>, seed: Option<u64>) -> Option<ListSpec> {
        let from = self.from.as_ref().or(self.body_lines.as_ref());
        let source = match from {
            _ if self.scenario.is_some() => {
                ListSource::Scenario(InputFile::at(self.scenario.as_ref()?))
            }
            Some(path) if path == Path::new("-") => ListSource::File(InputFile::at("/dev/stdin")),
            Some(path) => ListSource::File(InputFile::at(path)),
            None if urls.len() > 1 => ListSource::Urls(urls),
            None => return None,
        };
        let order = match self.order {
            OrderChoice::Sequential => ListOrder::Sequential,
            OrderChoice::Random => ListOrder::Random { seed: seed.unwrap_or_else(draw_seed) },
            OrderChoice::Once => ListOrder::Once,
        };
        Some(ListSpec {
            source,
            format: match self.body_lines {
                Some(_) => Some("body-lines".to_owned()),
                None => self.from_format.clone(),
            },
            order,
            skip_other_origins: self.skip_other_origins,
            allow_local: self.allow_local,
            groups: self.groups.clone(),
        })
    }
}
