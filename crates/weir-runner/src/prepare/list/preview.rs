//! The first requests of a list, as `--print-plan` shows them.

use weir_engine::{ListRows, ListedRequest, RequestList};
use weir_requests::list::Values;

/// Returns the request lines of the first slots, at most `most`, or of the steps of scenarios.
/// Fields have the values of the first connection, and captured ones are empty.
pub(crate) fn first_lines(list: &RequestList, most: u64) -> Vec<String> {
    let mut reader = match &list.rows {
        ListRows::Prepared(_) | ListRows::Streamed(_) => None,
        ListRows::Read(source) => source.open().ok(),
    };
    let mut lines = Vec::new();
    if let (Some(_), ListRows::Prepared(requests)) = (&list.users, &list.rows) {
        let requests = requests.iter().take(usize::try_from(most).unwrap_or(usize::MAX));
        return requests.map(|request| line(list, request, 0)).collect();
    }
    for slot in 0..most {
        let Some(row) = list.sequence.row(slot) else { break };
        let request = match (&list.rows, &mut reader) {
            (ListRows::Prepared(requests), _) => Some(requests[row as usize].clone()),
            (ListRows::Read(_), Some(reader)) => reader.read(row).ok(),
            // Rows of a stream are read once, for the load.
            (ListRows::Read(_), None) | (ListRows::Streamed(_), _) => None,
        };
        let Some(request) = request else { break };
        lines.push(line(list, &request, slot));
    }
    lines
}

/// Returns method and target of a request in the slot with this index.
fn line(list: &RequestList, request: &ListedRequest, slot: u64) -> String {
    let mut bytes = request.request.bytes().to_vec();
    if let Some(template) = &request.template {
        let table = list.table.as_ref();
        let row = table.map_or(&[][..], |table| table.row(list.seed, slot, 0));
        let values = Values { seed: list.seed, index: slot, row, ..Values::default() };
        template.render(values, &mut bytes);
    }
    let end = bytes.iter().position(|byte| *byte == b'\r').unwrap_or(bytes.len());
    let line = String::from_utf8_lossy(&bytes[..end]);
    line.rsplit_once(' ').map_or(line.as_ref(), |(line, _version)| line).to_owned()
}
