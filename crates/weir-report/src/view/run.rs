//! The report of a run: which sections it has, in which order.

use weir_result::Document;

use super::{
    Block, Detail, Report, Section, agents, course, details, head, highlights, histogram, messages,
    names, percentiles, plots, spectrum, stages, throughput, users, verdict,
};

impl Report {
    /// Builds the report of a document.
    pub fn of(document: &Document, detail: &Detail) -> Report {
        // The answer comes first, pictures before it on a page; what explains it comes later.
        let mut sections = vec![Section { title: "Run", blocks: head::blocks(document) }];
        if detail.plots {
            let plots = plots::over_time(document).map(Block::Plot);
            sections.push(Section { title: "Over time", blocks: plots.collect() });
        }
        sections.push(Section { title: "Verdict", blocks: verdict::blocks(document, detail) });
        let mut results = throughput::blocks(document);
        if detail.course {
            results.extend(course::blocks(document));
        }
        results.extend(percentiles::blocks(document, detail.verbose));
        let messages = messages::blocks(document, &results);
        results.extend(messages);
        let stages = stages::blocks(document, detail, &results);
        results.extend(stages);
        let users = users::blocks(document, &results);
        results.extend(users);
        let names = names::blocks(document, detail, &results);
        results.extend(names);
        results.extend(agents::blocks(document, detail));
        if detail.plots {
            results.extend(plots::results(document).map(Block::Plot));
        }
        sections.push(Section { title: "Results", blocks: results });
        if detail.histogram {
            sections.push(Section { title: "Histogram", blocks: histogram::blocks(document) });
        }
        if detail.spectrum {
            sections.push(Section { title: "Spectrum", blocks: spectrum::blocks(document) });
        }
        let mut details = Vec::new();
        if detail.verdict {
            details.extend(verdict::reasons(document, detail));
        }
        details.extend(details::blocks(document, detail));
        details.extend(head::invocation(document));
        if detail.plots {
            details.extend(plots::details(document).map(Block::Plot));
        }
        sections.push(Section { title: "Details", blocks: details });
        if detail.rules {
            sections.push(Section { title: "Rules", blocks: verdict::rules(&document.verdict) });
        }
        sections.push(Section { title: "Assertions", blocks: verdict::assertions(document) });
        Report {
            title: head::title(document),
            about: head::about(document),
            highlights: highlights::of(document),
            sections,
        }
    }
}
