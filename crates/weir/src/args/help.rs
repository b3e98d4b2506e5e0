//! The texts of `-h` and `--help` around the list of flags. The help of each flag is in its doc
//! comment.

/// Text of `-h` after the usage. Both together have at most 24 lines of 80 columns.
pub(super) const COMMON: &str = "\
Common options (--help lists and explains all):
  -c, --connections <N|A..B>   Connections over all threads [default: 10]
  -d, --duration <T>           Length of the measured window [default: 10s]
  -R, --rate <N>               Requests per second [default: closed loop]
      --stages <STAGES|@FILE>  Rates one after the other: 30s@1k,1m@1k..5k
  -s, --script <FILE>          Lua script with wrk's API
  -X, -H, -b                   Method, header \"Name: value\", body TEXT or @FILE
      --from <FILE>            Requests of a list: URLs, curl commands, HAR, …
      --expect <EXPECTATION>   Good responses alone: status=200, body~REGEX, …
      --assert <ASSERTION>     Exit with 3 unless 'p99 < 5ms', 'errors == 0', …
      --debug                  Send one request, print it and its response
      --tui                    Show rate and latency while the load runs
  -o, --output <FILE>          Write the result; .json, .html, .csv, .md, …

Examples:
  weir http://localhost:8080/            # no server yet? weir serve is one
  weir -c100 -d30s -R 20k -o report.html http://localhost:8080/index.html";

/// Text of `--help` after the flags.
pub(super) const ALL: &str = "\
Load: without --rate every connection sends its next request as soon as the last response is \
complete (closed loop). With --rate requests leave at planned times whatever the server does \
(open loop), and latency counts from the planned time. --stages has rates one after the other, \
--replay the times of a log. -c 10..1000 opens a further connection whenever none is free.

Send and receive strategy: --pacing sets how send times are met, --wait how responses are \
awaited, --tick when sends are batched. The defaults favour accurate latency. Against a fast \
server, with the client's CPU as the limit: --wait throughput, with a rate also --tick 100us. \
For the lowest client overhead, with one idle CPU per thread: --pacing spin --wait spin.

Credentials: the values of Authorization, Cookie, Proxy-Authorization, --user and a user name in \
the URL are sent and never written: documents, rows and reports have [redacted] instead. \
--redact adds headers and query parameters.

Durations: 500ms, 2s, 1.5m, 1h; a bare number is seconds. Counts: 20k, 1.5M.
Exit status: 0 success, 1 no successful response, 2 usage or script error, 3 a failed --assert \
or --strict, 4 a part of the run is missing, 6 ended by --abort, 70 internal inconsistency, 71 out \
of system resources, 74 result not written, 129/130/143 interrupted.

Parts of this help: weir help load, requests, lists, streams, connections, tls, output, server or \
fleet; weir help --flag.

Commands:
  weir repeat    Repeat a run; print mean, spread and interval of each metric
  weir ab        Compare two variants by interleaved pairs of runs
  weir search    Find the highest rate that meets an objective: 'p99 < 10ms'
  weir sweep     Run all combinations of some options
  weir compare   Compare documents, or two sets of them
  weir rerun     Repeat the run of a document exactly
  weir resume    Continue a study that was interrupted
  weir report    Report of documents written with --output
  weir history   Saved runs: list, show, trend, tag
  weir scenario  Write a scenario of users, made from a HAR file, Postman, .http or curl
  weir doctor    Check of this machine for what spoils a measurement
  weir serve     Reference server with programmable responses, delays, stalls and faults
  weir man       Man pages; weir completions: those of bash, zsh and fish

Examples:
  weir serve -l 127.0.0.1:8080 -l 127.0.0.1:8081   # in another terminal: servers to try this with
  weir http://localhost:8080/                      # how much does it carry?
  weir -R 2k -o report.html http://localhost:8080/   # latency at 2,000/s, as a page with plots
  weir ab -d2s -a http://localhost:8080/ -b http://localhost:8081/   # which one is faster?
  weir -R 500 --assert 'p99 < 50ms' --assert 'errors == 0' http://localhost:8080/   # in CI
  weir -s examples/lua/counter.lua https://localhost:8443/
  weir -u me:secret -X PUT -b @item.json https://localhost:8443/item
  weir -o - http://localhost:8080/ | jq .accounting";
