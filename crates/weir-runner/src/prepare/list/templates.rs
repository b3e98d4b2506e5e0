//! The templates of a run: where they apply, and the values that do not change during it.

use std::cell::RefCell;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use weir_engine::ListedRequest;
use weir_requests::list::{
    Constants, FieldSources, ListFormat, RowOrder, Table, TableRows, TemplateFields, TextForm,
};
use weir_result::TemplatePlan;
use weir_result::document::{Input, InputRole};
use weir_text::setting::{ALLOW_LOCAL, CONNECTIONS, ROWS, ROWS_ORDER};

use crate::access::MachineAccess;
use crate::errors::shown;
use crate::input::DATA_MAX_BYTES;
use crate::spec::{ListSource, ListSpec, RowsOrder, RunSpec};

/// Greatest number of values of a table that are searched for as secrets.
const SECRETS_MAX: usize = 10_000;

/// The templates of a run.
#[derive(Clone, Debug)]
pub(super) struct Templates {
    /// Rows with values.
    pub(super) table: Option<TableRows>,
    /// File of the table.
    pub(super) input: Option<Input>,
    /// Names of the values that users capture; `None` without scenarios.
    pub(super) captured: Option<Vec<String>>,
    /// True if each request is the step of a user: of a scenario, or with the redirects that it
    /// follows.
    pub(super) has_users: bool,
    /// True if rows of the list may have fields.
    of_rows: bool,
    /// True if messages of conversations have fields.
    of_messages: bool,
    /// True if fields of rows may read this machine.
    may_read: bool,
    pub(super) access: MachineAccess,
}

impl Templates {
    /// Returns the plan of the templates; `None` if none of the requests has a field.
    pub(super) fn plan(&self, spec: &RunSpec, requests: &[ListedRequest]) -> Option<TemplatePlan> {
        let has_fields = requests.iter().any(|request| request.template.is_some());
        let order = self.table.as_ref().map(|_| spec.templates.order.name().to_owned());
        has_fields.then(|| TemplatePlan {
            seed: spec.templates.seed,
            rows_sha256: self.input.as_ref().map(|input| input.sha256.clone()),
            rows_order: order,
        })
    }

    /// Reads the table of a specification; the list is in `format`, `None` for a log and for
    /// scenarios. Users of these and of sessions capture values of these names.
    ///
    /// # Errors
    /// When the table cannot be read, or has too few rows.
    pub(super) fn of(
        spec: &RunSpec,
        list: &ListSpec,
        format: Option<ListFormat>,
        captured: Option<&[String]>,
        access: &MachineAccess,
    ) -> Result<Templates> {
        let is_own = [ListFormat::Urls, ListFormat::JsonLines, ListFormat::BodyLines];
        let is_own = format.is_some_and(|format| is_own.contains(&format));
        let is_typed = matches!(list.source, ListSource::Urls(_));
        let (table, input) = match &spec.templates.rows {
            None => (None, None),
            Some(file) => {
                let bytes = file.read(ROWS, DATA_MAX_BYTES)?;
                let input = file.verify(InputRole::Rows, &bytes)?;
                let failed = |text| anyhow!("{ROWS} {}: {text}", shown(&file.path));
                let table = Arc::new(Table::parse(&bytes).map_err(failed)?);
                let order = match spec.templates.order {
                    RowsOrder::Sequential => RowOrder::Sequential,
                    RowsOrder::Random => RowOrder::Random,
                    RowsOrder::Unique => RowOrder::Unique,
                };
                let connections = u64::from(spec.load.connections.most());
                if order == RowOrder::Unique && table.rows() < connections {
                    bail!(
                        "{ROWS_ORDER} unique: {} rows are too few for {connections} connections: \
                         add rows, or lower {CONNECTIONS}",
                        table.rows()
                    );
                }
                (Some(TableRows { table, order }), Some(input))
            }
        };
        Ok(Templates {
            table,
            input,
            captured: captured.map(<[String]>::to_vec),
            has_users: captured.is_some() || spec.request.redirects > 0,
            of_messages: list.has_scenarios() || spec.templates.everywhere,
            of_rows: captured.is_some()
                || is_own
                || (spec.templates.everywhere && format.is_some()),
            may_read: is_typed || list.allow_local,
            access: access.clone(),
        })
    }

    /// True for the steps of scenarios, or the turns of sessions.
    pub(super) fn are_of_users(&self) -> bool {
        self.captured.is_some()
    }

    /// Replaces the fields in a text of the command line by marks.
    pub(super) fn mark_own(&self, text: &str, marks: &mut Marks) -> Result<String> {
        self.mark(text, TextForm::Plain, TextForm::Plain, true, marks)
    }

    /// Replaces the fields in a body of this form of the command line by marks.
    pub(super) fn mark_body(
        &self,
        text: &str,
        form: TextForm,
        marks: &mut Marks,
    ) -> Result<String> {
        self.mark(text, form, form, true, marks)
    }

    /// Replaces the fields in a value of a form of the command line by marks; `is_encoded` is true
    /// if the form is urlencoded.
    pub(super) fn mark_form(
        &self,
        text: &str,
        is_encoded: bool,
        marks: &mut Marks,
    ) -> Result<String> {
        let form = if is_encoded { TextForm::Encoded } else { TextForm::Plain };
        // The form is encoded later, with the values of the environment in it.
        self.mark(text, form, TextForm::Plain, true, marks)
    }

    /// Replaces the fields in a text of a row by marks, if rows have fields. `form` is that of the
    /// text.
    pub(super) fn mark_row(&self, text: &str, form: TextForm, marks: &mut Marks) -> Result<String> {
        match self.of_rows {
            true => self.mark(text, form, form, self.may_read, marks),
            false => Ok(text.to_owned()),
        }
    }

    /// Replaces the fields in the message of a user by marks. What was recorded has none.
    pub(super) fn mark_message(&self, text: &str, marks: &mut Marks) -> Result<String> {
        match self.of_messages {
            true => self.mark_row(text, TextForm::Message, marks),
            false => Ok(text.to_owned()),
        }
    }

    /// Replaces fields by marks. `written` is the form in which values of the environment are
    /// written.
    fn mark(
        &self,
        text: &str,
        form: TextForm,
        written: TextForm,
        may_read: bool,
        marks: &mut Marks,
    ) -> Result<String> {
        if !text.contains("{{") {
            return Ok(text.to_owned());
        }
        let access = &self.access;
        let constants = LocalConstants { may_read, written, access, secrets: RefCell::default() };
        let sources = FieldSources {
            table: self.table.as_ref().map(|rows| &*rows.table),
            captured: self.captured.as_deref(),
            constants: &constants,
        };
        let marked = marks.fields.mark(text, form, &sources);
        marks.secrets.extend(constants.secrets.into_inner());
        marked.map_err(|text| anyhow!("{text}"))
    }

    /// Returns the values of columns whose names are those of credentials, by `is_secret`.
    pub(super) fn secrets(&self, is_secret: impl Fn(&str) -> bool) -> Vec<String> {
        let Some(TableRows { table, .. }) = &self.table else { return Vec::new() };
        let columns = table.columns().iter().enumerate().filter(|(_, name)| is_secret(name));
        let columns: Vec<usize> = columns.map(|(column, _)| column).collect();
        let rows = (0..table.rows()).map(|row| table.row(row));
        let values = rows.flat_map(|row| columns.iter().map(|column| &row[*column]));
        values.take(SECRETS_MAX).map(|value| String::from_utf8_lossy(value).into()).collect()
    }
}

/// The fields of one request, and the values that were read from this machine for it.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) fields: TemplateFields,
    pub(super) secrets: Vec<String>,
}

/// Values of this machine, if it may be read.
struct LocalConstants<'a> {
    may_read: bool,
    /// Form of the text that variables stand in.
    written: TextForm,
    access: &'a MachineAccess,
    secrets: RefCell<Vec<String>>,
}

impl LocalConstants<'_> {
    fn check(&self, field: &str) -> Result<(), String> {
        match self.may_read {
            true => Ok(()),
            false => Err(format!(
                "{{{{{field}}}}} reads this machine: give {ALLOW_LOCAL} if you trust the list"
            )),
        }
    }
}

impl Constants for LocalConstants<'_> {
    fn variable(&self, name: &str) -> Result<String, String> {
        self.check(&format!("env:{name}"))?;
        let value = self.access.variable(name);
        let value = value.map_err(|error| format!("{{{{env:{name}}}}}: {error}"))?;
        self.secrets.borrow_mut().push(value.clone());
        let written = self.written.written(value);
        self.secrets.borrow_mut().push(written.clone());
        Ok(written)
    }

    fn file(&self, path: &str) -> Result<String, String> {
        self.check(&format!("file:{path}"))?;
        let text = self.access.text_of(path);
        let text = text.map_err(|error| format!("{{{{file:{path}}}}}: {error}"))?;
        self.secrets.borrow_mut().push(text.clone());
        match self.written {
            // A message is one text; other bodies have the content of files as it is.
            TextForm::Message => Ok(self.written.written(text)),
            _ => Ok(text),
        }
    }
}
