//! Rows read back from the file equal those written, by the crate that wrote it.

use std::io;

use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use weir_report::raw::{RawAbout, RawTrial, RawWriter};
use weir_result::{ErrorKind, Load, OutcomeClass, Plan, RawRow, RowMessages, SlotPhase};

/// Writes a file of these rows.
fn written(rows: &[RawRow]) -> SerializedFileReader<bytes::Bytes> {
    let mut bytes = Vec::new();
    let mut writer = RawWriter::new(&mut bytes, "0.1.0").expect("memory can be written");
    // In pieces that do not fit row groups.
    rows.chunks(1000).for_each(|rows| writer.write(rows).expect("memory can be written"));
    let count = writer.end_run(&about("3f1c", &plan())).expect("memory can be written");
    assert_eq!(count, rows.len() as u64);
    writer.finish().expect("memory can be written");
    SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file")
}

fn about<'a>(run_id: &'a str, plan: &'a Plan) -> RawAbout<'a> {
    RawAbout {
        run_id,
        epoch_unix_ns: 1_767_323_045_000_000_006,
        epoch_monotonic_ns: 77,
        t0_ns: Some(2_000_000_000),
        t1_ns: None,
        lost: 3,
        plan,
    }
}

fn plan() -> Plan {
    Plan {
        load: Load { connections: 100.into(), ..Plan::default().load },
        url: "http://127.0.0.1:8080/index.html".to_owned(),
        threads: 2,
        ..Plan::default()
    }
}

/// Every row of a file as text, column by column.
fn texts(file: &SerializedFileReader<bytes::Bytes>) -> Vec<String> {
    let rows = file.get_row_iter(None).expect("columns that can be read");
    let text = |field: &Field| match field {
        Field::Str(text) => text.clone(),
        field => field.to_string(),
    };
    rows.map(|row| {
        let row = row.expect("a row");
        row.get_column_iter().map(|(_, field)| text(field)).collect::<Vec<_>>().join(" ")
    })
    .collect()
}

fn value<'m>(metadata: &'m ParquetMetaData, key: &str) -> Option<&'m str> {
    let pairs = metadata.file_metadata().key_value_metadata().expect("there are some");
    pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref())
}

#[test]
fn what_is_read_is_what_was_written() {
    let completed = RawRow {
        intended_at: 2_000_000_000,
        freed_at: 1_999_999_000,
        sent_at: 2_000_000_100,
        tx_at: 2_000_000_150,
        first_byte_at: 2_000_050_000,
        rx_at: 2_000_049_000,
        ended_at: 2_000_050_001,
        error: None,
        worker: 1,
        connection: 7,
        messages: RowMessages { first_at: 2_000_050_000, count: 3, bytes: 60 },
        status: 200,
        name: RawRow::NO_NAME,
        phase: SlotPhase::Measured,
        outcome: OutcomeClass::Ok,
    };
    let unstamped = RawRow { tx_at: RawRow::NEVER, rx_at: RawRow::NEVER, ..completed };
    let failed = RawRow {
        first_byte_at: RawRow::NEVER,
        messages: RowMessages::UNMEASURED,
        status: 0,
        outcome: OutcomeClass::TransportError,
        ..unstamped
    };
    let because = |error| RawRow { error: Some(error), ..failed };
    let rows = [
        completed,
        RawRow { status: 503, outcome: OutcomeClass::BadResponse, ..unstamped },
        because(ErrorKind::Errno(104)),
        because(ErrorKind::Protocol("bad_chunk")),
        RawRow { outcome: OutcomeClass::TimedOut, phase: SlotPhase::Warmup, ..failed },
        RawRow { outcome: OutcomeClass::InFlightAtEnd, phase: SlotPhase::Tail, ..failed },
        RawRow { intended_at: 5, ended_at: u64::MAX >> 1, ..RawRow::EMPTY },
    ];
    let file = written(&rows);
    let sent = "2000000000 1999999000 2000000100";
    let end = "2000050001";
    let expected = [
        format!(
            "1 7 measured ok 200 null null 3 60 {sent} 2000000150 2000050000 2000050000 \
             2000049000 {end}"
        ),
        format!(
            "1 7 measured bad_response 503 null null 3 60 {sent} null 2000050000 2000050000 \
             null {end}"
        ),
        format!(
            "1 7 measured transport_error null ECONNRESET null null null {sent} null null null \
             null {end}"
        ),
        format!(
            "1 7 measured transport_error null protocol_bad_chunk null null null {sent} null \
             null null null {end}"
        ),
        format!("1 7 warmup timed_out null null null null null {sent} null null null null {end}"),
        format!(
            "1 7 tail in_flight_at_end null null null null null {sent} null null null null {end}"
        ),
        "0 null measured never_sent null null null null null 5 null null null null null null \
         9223372036854775807"
            .to_owned(),
    ];
    assert_eq!(texts(&file), expected);
}

#[test]
fn rows_of_a_list_have_names() {
    let mut bytes = Vec::new();
    let mut writer = RawWriter::new(&mut bytes, "0.1.0").expect("memory can be written");
    let names = ["home", "=1+1 \"x\" \u{202e}商"].map(str::to_owned);
    let row = |name: u16| RawRow { name, ..RawRow::EMPTY };
    writer.write(&[row(0)]).expect("memory can be written");
    writer.set_names(&names).expect("memory can be written");
    writer.write(&[row(1), row(0), row(RawRow::NO_NAME)]).expect("memory can be written");
    writer.finish().expect("memory can be written");
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let rows = file.get_row_iter(None).expect("columns that can be read");
    let found = rows.map(|row| {
        let row = row.expect("a row");
        let name = row.get_column_iter().find(|(title, _)| *title == "name");
        match name.expect("the column").1 {
            Field::Str(name) => Some(name.clone()),
            _ => None,
        }
    });
    let expected = [None, Some(names[1].clone()), Some(names[0].clone()), None];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_names_its_run() {
    let file = written(&[]);
    let metadata = file.metadata();
    for (key, expected) in [
        ("weir.schema_version", Some("1")),
        ("weir.tool", Some("weir 0.1.0")),
        ("weir.run_id", Some("3f1c")),
        ("weir.epoch_unix_ns", Some("1767323045000000006")),
        ("weir.epoch_monotonic_ns", Some("77")),
        ("weir.t0_ns", Some("2000000000")),
        ("weir.t1_ns", None),
        ("weir.rows", Some("0")),
        ("weir.lost", Some("3")),
    ] {
        assert_eq!(value(metadata, key), expected, "{key}");
    }
    let text = value(metadata, "weir.plan").expect("a plan");
    let read: Plan = serde_json::from_str(text).expect("a plan");
    assert_eq!(read, plan());
}

#[test]
fn rows_of_a_study_name_their_trial() {
    let mut bytes = Vec::new();
    let mut writer = RawWriter::of_study(&mut bytes, "0.1.0").expect("memory can be written");
    let trials = [(1, "old", 2), (2, "", 0), (3, "new", 1), (5, "", 1)];
    for (number, variant, rows) in trials {
        let trial = RawTrial { number, variant: variant.to_owned() };
        writer.begin_trial(trial).expect("memory can be written");
        writer.write(&vec![RawRow::EMPTY; rows]).expect("memory can be written");
        // The third one fails before its end.
        if number != 3 {
            let count = writer.end_run(&about(variant, &plan())).expect("memory can be written");
            assert_eq!(count, rows as u64);
        }
    }
    writer.finish().expect("memory can be written");
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let row =
        "0 null measured never_sent null null null null null 0 null null null null null null 0";
    let expected = ["1 old", "1 old", "3 new", "5 null"].map(|trial| format!("{trial} {row}"));
    assert_eq!(texts(&file), expected);
    let text = value(file.metadata(), "weir.trials").expect("a list");
    let list: Vec<serde_json::Value> = serde_json::from_str(text).expect("JSON");
    let number = |index: usize, key: &str| list[index][key].as_u64();
    assert_eq!([0, 1, 2].map(|index| number(index, "trial")), [1, 2, 5].map(Some));
    assert_eq!([0, 1, 2].map(|index| number(index, "rows")), [2, 0, 1].map(Some));
    assert_eq!(number(0, "epoch_unix_ns"), Some(1_767_323_045_000_000_006));
    assert_eq!((&list[0]["variant"], &list[0]["t1_ns"]), (&"old".into(), &().into()));
    let read: Plan = serde_json::from_value(list[0]["plan"].clone()).expect("a plan");
    assert_eq!(read, plan());
    assert_eq!(value(file.metadata(), "weir.run_id"), None);
}

#[test]
fn rows_are_cut_into_groups() {
    let rows: Vec<RawRow> =
        (0..300_000).map(|at| RawRow { intended_at: at, ..RawRow::EMPTY }).collect();
    let file = written(&rows);
    let sizes: Vec<i64> =
        file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(sizes, [131_072, 131_072, 37_856]);
    let mut last = file.get_row_iter(None).expect("columns that can be read").skip(299_999);
    let row = last.next().expect("the last row").expect("a row");
    let intended_at = row.get_column_iter().nth(9).map(|(name, field)| (name.as_str(), field));
    assert_eq!(intended_at, Some(("intended_at", &Field::Long(299_999))));
}

#[test]
fn an_error_of_the_output_stays_what_it_is() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let rows = vec![RawRow::EMPTY; 200_000];
    let outcome = RawWriter::new(Full, "0.1.0").and_then(|mut writer| writer.write(&rows));
    assert_eq!(outcome.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
}
