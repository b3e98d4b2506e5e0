-- Says what is sent, once.
wrk.method = "POST"
wrk.headers["X-Kind"] = "static"
