//! Files of `--export` and its short forms: a document in other formats.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use weir_report::{Exporter, Findings, TextOptions, exporters};
use weir_result::Document;

use super::distinct::check_distinct;
use super::result_file::{ResultFile, Temporaries};
use crate::errors::NotWritten;
use crate::terminal::shown;

/// Extension of the files that hold every request.
pub(super) const ROWS_EXTENSION: &str = "parquet";

/// Returns the extension of a file's name in lower case.
pub(super) fn extension_of(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// A file and its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    /// Flag that names the file.
    pub(crate) flag: &'static str,
    /// Format of the file.
    pub(crate) format: Exporter,
    /// The file.
    pub(crate) path: PathBuf,
}

/// The files of `--export`, `--output` and `--junit`.
pub(crate) fn all_exports(
    exports: &[Export],
    outputs: impl Iterator<Item = Export>,
    junit: Option<&Path>,
) -> Vec<Export> {
    let junit = junit.map(|path| Export {
        flag: "--junit",
        format: exporters::JUNIT,
        path: path.to_owned(),
    });
    exports.iter().cloned().chain(outputs).chain(junit).collect()
}

impl Export {
    /// True for the document itself.
    pub(super) fn is_document(&self) -> bool {
        self.format == exporters::JSON
    }

    /// Parses the value of `--export`: `html=report.html`.
    ///
    /// # Errors
    /// When there is no such format, or no file.
    pub(crate) fn parse(text: &str) -> Result<Export, String> {
        let Some((format, path)) = text.split_once('=') else {
            return Err("give a format and a file: html=report.html".to_owned());
        };
        let format = Exporter::named(format)?;
        match path {
            "" => Err(format!("give a file: {}=report.{}", format.name, format.extension)),
            "-" => Err(format!("files only; for standard output use --format {}", format.name)),
            path => Export { flag: "--export", format, path: PathBuf::from(path) }.checked(),
        }
    }

    /// Checks that the file's extension does not belong to another format.
    fn checked(self) -> Result<Export, String> {
        let extension = extension_of(&self.path).unwrap_or_default();
        let is_rows = extension == ROWS_EXTENSION;
        // Tables of text go into .txt too.
        let other = exporters::of_extension(&extension)
            .filter(|known| *known != self.format && *known != exporters::TEXT);
        if !is_rows && (other.is_none() || extension == self.format.extension) {
            return Ok(self);
        }
        let name = self.format.name;
        let own = self.format.extension;
        let path = shown(&self.path);
        Err(format!(
            "{name} does not go into a .{extension} file: name it .{own}, or use -o {path}"
        ))
    }

    /// Parses the value of `--export`, for the result of several runs.
    ///
    /// # Errors
    /// When there is no such format, or it is for single runs, or there is no file.
    pub(crate) fn parse_of_findings(text: &str) -> Result<Export, String> {
        let export = Export::parse(text)?;
        export.format.for_findings().map(|_| export)
    }
}

/// Files to write once there is a document.
#[derive(Debug, Default)]
pub(crate) struct ExportFiles(Vec<(ResultFile, Export)>);

impl ExportFiles {
    /// Prepares the files, which must be distinct from each other and from each of `others`.
    ///
    /// # Errors
    /// When two are the same, or one cannot be written.
    pub(crate) fn at(
        exports: Vec<Export>,
        others: &[(&str, &Path)],
        temporaries: &Temporaries,
    ) -> Result<ExportFiles> {
        let named = exports.iter().map(|export| (export.flag, export.path.as_path()));
        let named: Vec<_> = named.collect();
        check_distinct(&named)?;
        others.iter().try_for_each(|other| check_distinct(&[&[*other], &named[..]].concat()))?;
        let file =
            |export: Export| Ok((ResultFile::at(export.flag, &export.path, temporaries)?, export));
        exports.into_iter().map(file).collect::<Result<_>>().map(ExportFiles)
    }

    /// Writes all files, even if one fails.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn write(
        self,
        document: &Document,
        options: &TextOptions,
    ) -> Result<(), NotWritten> {
        self.write_with(|export, out| export.format.write(document, options, out))
    }

    /// Writes the result of several runs to all files, even if one fails.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn write_findings(
        self,
        findings: &Findings<'_>,
        options: &TextOptions,
    ) -> Result<(), NotWritten> {
        self.write_with(|export, out| export.format.write_findings(findings, options, out))
    }

    fn write_with(
        self,
        write: impl Fn(&Export, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), NotWritten> {
        let files = self.0.into_iter();
        let written = files.map(|(file, export)| file.write(|out| write(&export, out)));
        written.fold(Ok(()), Result::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_a_format_and_a_file() {
        let export = Export::parse("html=a=b.html").expect("a format and a file");
        assert_eq!((export.format.name, export.path), ("html", PathBuf::from("a=b.html")));
        for (text, expected) in [
            ("report.html", "give a format and a file"),
            ("html=", "give a file: html=report.html"),
            ("markdown=-", "use --format markdown"),
            ("md=x", "did you mean markdown"),
            ("k6=x.html", "k6 does not go into a .html file: name it .json, or use -o x.html"),
            ("html=x.JSON", "name it .html"),
            ("csv=x.parquet", "name it .csv"),
        ] {
            let error = Export::parse(text).expect_err("it is wrong");
            assert!(error.contains(expected), "{text}: {error}");
        }
        for text in
            ["k6=x.json", "html=x", "hgrm=x.txt", "percentiles=x.csv", "html=x.HTML", "html=x.htm"]
        {
            Export::parse(text).expect(text);
        }
    }
}
