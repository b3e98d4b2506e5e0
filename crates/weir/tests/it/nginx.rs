//! Against a real nginx: every request that weir counts as sent is a request that nginx counted.

use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::weir;

/// Connections never end by their number of requests.
const ENDLESS: &str = "keepalive_requests 1000000000;";

#[test]
fn nginx_counts_the_requests_that_weir_counts() {
    let nginx = Nginx::start(ENDLESS);
    on_an_engine(|engine| {
        for connections in [1, 10, 100, 1000] {
            for load in ["", "-R 2000"] {
                let before = nginx.requests();
                let flags = format!("-c{connections} -t2 -d100ms --warmup 50ms {load}");
                let ran = weir::load(engine, &flags, &[&nginx.url()]);
                ran.assert_all_ok();
                ran.assert_no_failure();
                let results = &ran.document.results;
                let accounting = &ran.document.accounting;
                if !load.is_empty() {
                    assert_eq!((results.planned, accounting.sent.warmup), (200, 100), "{ran}");
                }
                assert_eq!(ran.document.connections.open_at_t0, connections, "{ran}");
                assert_eq!(nginx.requests() - before - 1, accounting.sent.total, "{ran}");
                ran.assert_says("nginx");
            }
        }
    });
}

#[test]
fn nginx_closing_connections_costs_no_request() {
    let nginx = Nginx::start(ENDLESS);
    on_an_engine(|engine| {
        let before = nginx.requests();
        let flags = "-c10 -t2 -n 500 -R 5000";
        let ran = weir::load(engine, flags, &["-H", "Connection: close", &nginx.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        let sent = ran.document.accounting.sent;
        assert_eq!(sent.total - sent.probe, 501, "{ran}");
        assert_eq!(nginx.requests() - before - 1, sent.total, "{ran}");
    });
}
