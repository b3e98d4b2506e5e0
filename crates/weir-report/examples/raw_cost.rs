//! Cost of a row on its way into a Parquet file, in CPU time, and its size there. A tool for
//! changes to the writer, not a test.
//!
//! `cargo run --release -p weir-report --example raw_cost [FILE]`

use std::io::{self, Write};
use std::time::Instant;

use weir_report::raw::{RawAbout, RawWriter};
use weir_result::{OutcomeClass, Plan, RawLog, RawRow};

const ROWS: u64 = 4_000_000;
const CHUNK_ROWS: usize = 4096;
/// Rows that fit the buffer of a sink.
const SINK_ROWS: usize = 300_000;

fn main() -> io::Result<()> {
    let out: Box<dyn Write + Send> = match std::env::args_os().nth(1) {
        Some(path) => Box::new(std::fs::File::create(path)?),
        None => Box::new(io::sink()),
    };
    let mut counted = Counted { out, bytes: 0 };
    let rows = rows();
    let started_at = Instant::now();
    let mut writer = RawWriter::new(&mut counted, env!("CARGO_PKG_VERSION"))?;
    let mut written = 0;
    while written < ROWS {
        for chunk in rows.chunks(CHUNK_ROWS) {
            writer.write(chunk)?;
            written += chunk.len() as u64;
        }
    }
    let plan = Plan::default();
    let about = RawAbout {
        run_id: "cost",
        epoch_unix_ns: 0,
        epoch_monotonic_ns: 0,
        t0_ns: None,
        t1_ns: None,
        lost: 0,
        plan: &plan,
    };
    writer.end_run(&about)?;
    writer.finish()?;
    let took_s = started_at.elapsed().as_secs_f64();
    println!("{:.1} ns a row in the worker", push_ns(&rows[..SINK_ROWS]));
    let rows = written as f64;
    println!(
        "{:.2} M rows/s, {:.0} ns and {:.1} bytes a row",
        rows / took_s / 1e6,
        took_s * 1e9 / rows,
        counted.bytes as f64 / rows
    );
    Ok(())
}

/// Cost of a row in the worker, in nanoseconds: the least of 20 measurements.
fn push_ns(rows: &[RawRow]) -> f64 {
    let times = (0..20).map(|_| {
        let (log, _source) = RawLog::new(32 << 20, 1);
        let mut sink = log.sink();
        let started_at = Instant::now();
        rows.iter().for_each(|row| sink.push(*row));
        let took = started_at.elapsed();
        assert_eq!(sink.finish(), 0, "the buffer holds them");
        took.as_secs_f64() * 1e9 / rows.len() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Rows as two workers with 50 connections each record them at 200,000 requests per second, with
/// times as random as real ones.
fn rows() -> Vec<RawRow> {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let rows = (0..1_u64 << 20).map(|index| {
        let worker = index / CHUNK_ROWS as u64 % 2;
        let of_worker = index % CHUNK_ROWS as u64;
        let round = index / CHUNK_ROWS as u64 / 2 * CHUNK_ROWS as u64 + of_worker;
        let intended_at = 2_000_000_000 + round * 10_000;
        let sent_at = intended_at + 200 + random(4_000);
        let first_byte_at = sent_at + 30_000 + random(20_000);
        RawRow {
            intended_at,
            freed_at: intended_at - random(400_000),
            sent_at,
            first_byte_at,
            ended_at: first_byte_at,
            worker: worker as u32,
            connection: random(50) as u32,
            status: 200,
            outcome: OutcomeClass::Ok,
            ..RawRow::EMPTY
        }
    });
    rows.collect()
}

/// Counts the bytes of a file.
struct Counted {
    out: Box<dyn Write + Send>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
