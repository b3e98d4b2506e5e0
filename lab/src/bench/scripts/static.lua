-- Says what is sent, once.
wrk.method = "OPTIONS"
wrk.headers["X-Kind"] = "static"
