//! Files of `-o`: the extension of a name is its format. It opens no file.

use std::path::{Path, PathBuf};

use weir_report::{Exporter, exporters};
use weir_text::printable;

use super::exports::{Export, ROWS_EXTENSION, extension_of};
use crate::terminal::shown;

/// Where `-o` writes a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// `-`: the document on standard output, in the report's place.
    Stdout,
    /// Every request of a run.
    Rows(PathBuf),
    /// The document, in a file without an extension too, or another format.
    Export(Export),
}

impl Output {
    /// Returns the output of a run.
    ///
    /// # Errors
    /// When the extension is of no format, or the whole name is that of one.
    pub(crate) fn of_run(path: PathBuf) -> Result<Output, String> {
        if is_stdout(&path) {
            return Ok(Output::Stdout);
        }
        let format = match extension_of(&path) {
            Some(extension) if extension == ROWS_EXTENSION => return Ok(Output::Rows(path)),
            Some(extension) => exporters::of_extension(&extension).ok_or_else(|| {
                format!("no format has the extension .{}: {}", printable(&extension), remedy())
            })?,
            None if is_format(&path) => {
                let name = shown(&path);
                return Err(format!(
                    "{name} is a format, and no file: name a file, or {}",
                    remedy()
                ));
            }
            None => exporters::JSON,
        };
        Ok(Output::Export(Export { flag: "--output", format, path }))
    }

    /// Returns the output of a document that was read.
    ///
    /// # Errors
    /// When it is for rows, which exist only during a run.
    pub(crate) fn of_document(path: PathBuf) -> Result<Output, String> {
        Output::of_run(path)?.without_rows("weir -o FILE.parquet URL")
    }

    /// Returns the output of a study, whose trials have rows.
    ///
    /// # Errors
    /// When it is for a single run.
    pub(crate) fn of_study(path: PathBuf) -> Result<Output, String> {
        let output = Output::of_run(path)?;
        match &output {
            Output::Export(export) => export.format.for_findings().map(|_| output),
            Output::Stdout | Output::Rows(_) => Ok(output),
        }
    }

    /// Returns the output of the result of several runs that were made before.
    ///
    /// # Errors
    /// When it is for a single run, or for rows, which exist only during a run.
    pub(crate) fn of_findings(path: PathBuf) -> Result<Output, String> {
        Output::of_study(path)?.without_rows("name it .json, .html or .csv")
    }

    fn without_rows(self, remedy: &str) -> Result<Output, String> {
        match self {
            Output::Rows(_) => Err(format!("rows are written during a run: {remedy}")),
            output => Ok(output),
        }
    }
}

/// Returns the names that a file of `-o` can have.
fn remedy() -> String {
    let known: Vec<String> = exporters::extensions().map(|known| format!(".{known}")).collect();
    format!("name it {} or .{ROWS_EXTENSION}, or use --export FORMAT=FILE", known.join(", "))
}

/// True if a file's whole name is that of a format.
fn is_format(path: &Path) -> bool {
    let name = path.to_str().unwrap_or_default();
    name == ROWS_EXTENSION
        || Exporter::named(name).is_ok()
        || exporters::of_extension(name).is_some()
        || ["pdf", "yaml", "yml"].contains(&name)
}

/// True if a file of this name stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The files of `--output`, in the order given.
pub(crate) trait Outputs {
    /// All outputs.
    fn all(&self) -> &[Output];

    /// True if the document goes to standard output.
    fn has_stdout(&self) -> bool {
        self.all().contains(&Output::Stdout)
    }

    /// The files for rows.
    fn rows(&self) -> impl Iterator<Item = &Path> {
        self.all().iter().filter_map(|output| match output {
            Output::Rows(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The files for the document, or those in other formats.
    fn files(&self, are_documents: bool) -> impl Iterator<Item = &Export> {
        self.all().iter().filter_map(move |output| match output {
            Output::Export(export) => Some(export).filter(|it| it.is_document() == are_documents),
            _ => None,
        })
    }

    /// The files for the document.
    fn documents(&self) -> impl Iterator<Item = &Path> {
        self.files(true).map(|export| export.path.as_path())
    }

    /// The files in other formats.
    fn exports(&self) -> impl Iterator<Item = Export> {
        self.files(false).cloned()
    }

    /// The files of a study that are written at its end: all but the first for its document.
    fn at_end(&self) -> impl Iterator<Item = Export> {
        self.exports().chain(self.files(true).skip(1).cloned())
    }

    /// The files in all formats, the document's included.
    fn all_exports(&self) -> impl Iterator<Item = Export> {
        self.exports().chain(self.files(true).cloned())
    }

    /// The format of standard output, `format` unless the document goes there.
    fn format(&self, format: Exporter) -> Exporter {
        if self.has_stdout() { exporters::JSON } else { format }
    }
}

impl Outputs for [Output] {
    fn all(&self) -> &[Output] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_is_the_format() {
        let format = |name: &str| match Output::of_run(name.into()).expect("a file") {
            Output::Stdout => "stdout",
            Output::Export(export) if export.is_document() => "document",
            Output::Rows(_) => "rows",
            Output::Export(export) => export.format.name,
        };
        for (name, expected) in [
            ("-", "stdout"),
            ("a.json", "document"),
            ("a", "document"),
            ("a.html/b", "document"),
            (".html", "document"),
            ("a.txt", "text"),
            ("a.jsonl", "jsonl"),
            ("a.prom", "prometheus"),
            ("a.htm", "html"),
            ("a.html", "html"),
            ("a.b.HTML", "html"),
            ("a.md", "markdown"),
            ("a.csv", "csv"),
            ("a.xml", "junit"),
            ("a.hlog", "hlog"),
            ("a.hgrm", "hgrm"),
            ("a.parquet", "rows"),
        ] {
            assert_eq!(format(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_of_no_format_is_refused() {
        for (name, part) in [
            ("a.pdf", "no format has the extension .pdf: name it .json, .html, "),
            ("a.yaml", ".jsonl, .txt, .prom or .parquet, or use --export FORMAT=FILE"),
            ("a.out", "extension .out"),
            ("csv", "csv is a format, and no file"),
            ("markdown", "markdown is a format"),
            ("parquet", "parquet is a format"),
        ] {
            let error = Output::of_run(name.into()).expect_err(name);
            assert!(error.contains(part), "{name}: {error}");
        }
        assert!(Output::of_run("/dev/null".into()).is_ok());
    }

    #[test]
    fn a_format_of_a_run_is_refused_elsewhere() {
        let refusal = |name: &str| Output::of_findings(name.into()).expect_err(name);
        assert!(refusal("a.hlog").contains("hlog is for single runs"));
        assert!(refusal("a.parquet").contains("rows are written during a run"));
        assert!(Output::of_document("a.parquet".into()).is_err());
        assert!(Output::of_findings("a.csv".into()).is_ok());
        assert!(Output::of_document("a.hlog".into()).is_ok());
    }
}
