"""A shop with sessions, CSRF tokens and bearer tokens that expire, on aiohttp or hypercorn.

Each user names itself by `X-User`. For each user the shop keeps an `http.cookiejar` of its own, which
gets the cookies that the shop sets, and compares the `Cookie` field of each request with the one that
the jar would send. At SIGTERM it writes what it counted as one JSON object.
"""

import argparse
import asyncio
import collections
import http.cookiejar
import json
import platform
import random
import signal
import socket
import ssl
import sys
import time
import urllib.parse
from importlib.metadata import version


class Request:
    """A request in the form that http.cookiejar reads."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.full = url
        self.fields = {}
        self.type = self.url.scheme
        self.unverifiable = False
        self.origin_req_host = self.url.hostname

    def get_full_url(self):
        return self.full

    @property
    def host(self):
        return self.url.netloc

    def has_header(self, name):
        return name in self.fields

    def get_header(self, name, default=None):
        return self.fields.get(name, default)

    def header_items(self):
        return list(self.fields.items())

    def add_unredirected_header(self, name, value):
        self.fields[name] = value


class Response:
    """A response in the form that http.cookiejar reads."""

    def __init__(self, fields):
        self.fields = fields

    def info(self):
        return self

    def get_all(self, name, default=None):
        found = [value for field, value in self.fields if field.lower() == name.lower()]
        return found or default


class Shop:
    def __init__(self, scheme, library, seed, token_ttl):
        self.scheme = scheme
        self.library = library
        self.random = random.Random(seed)
        self.token_ttl = token_ttl
        self.requests = collections.Counter()
        self.broken = collections.Counter()
        self.examples = {}
        self.jars = {}
        # Session: its user, CSRF token, and whether it is logged in.
        self.sessions = {}
        # Token: its user and the time at which it expires.
        self.tokens = {}
        self.issued = 0

    def fresh(self, kind):
        self.issued += 1
        return f"{kind}{self.issued}-{self.random.getrandbits(64):016x}"

    def breaks(self, rule, text=""):
        self.broken[rule] += 1
        self.examples.setdefault(rule, text)

    def check_cookies(self, user, path, field):
        """Compares the field that was sent with the one that http.cookiejar would send."""
        jar = self.jars.setdefault(user, http.cookiejar.CookieJar())
        request = Request(f"{self.scheme}://127.0.0.1{path}")
        jar.add_cookie_header(request)
        expected = request.fields.get("Cookie", "")
        if expected != field:
            self.breaks("cookies", f"{path}: sent {field!r}, expected {expected!r}")

    def answer(self, user, path, status, fields, body):
        fields = [("Content-Type", "application/json"), *fields]
        jar = self.jars.setdefault(user, http.cookiejar.CookieJar())
        jar.extract_cookies(Response(fields), Request(f"{self.scheme}://127.0.0.1{path}"))
        return status, fields, body if isinstance(body, bytes) else json.dumps(body).encode()

    def handle(self, method, target, headers, body):
        """Returns status, fields and body of the response to a request."""
        path = target.partition("?")[0]
        user = headers.get("x-user", "")
        cookie = headers.get("cookie", "")
        self.requests[f"{method} {path}"] += 1
        if not user:
            self.breaks("no user", path)
        self.check_cookies(user, path, cookie)
        cookies = dict(part.strip().split("=", 1) for part in cookie.split(";") if "=" in part)
        session = self.sessions.get(cookies.get("session", ""))
        if session and session["user"] != user:
            self.breaks("foreign session", f"{user} has that of {session['user']}")

        def answer(status, fields, body):
            return self.answer(user, path, status, fields, body)

        if (method, path) == ("GET", "/login"):
            name = self.fresh("s")
            csrf = self.fresh("c") + "&\"<ü>"
            self.sessions[name] = {"user": user, "csrf": csrf, "is_in": False}
            fields = [
                ("Set-Cookie", f"session={name}; Path=/; HttpOnly"),
                ("Set-Cookie", "hint=1; Path=/login; Max-Age=60"),
                ("Set-Cookie", "gone=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
                ("Set-Cookie", "other=1; Domain=shop.example; Path=/"),
            ]
            return answer(200, fields, {"csrf": csrf})
        if (method, path) == ("POST", "/login"):
            form = dict(urllib.parse.parse_qsl(body.decode()))
            if not session:
                self.breaks("no session")
                return answer(401, [], {})
            if form.get("csrf") != session["csrf"]:
                self.breaks("csrf", f"{form.get('csrf')!r} is not {session['csrf']!r}")
                return answer(403, [], {})
            name = self.fresh("s")
            del self.sessions[cookies["session"]]
            self.sessions[name] = {"user": user, "csrf": "", "is_in": True}
            fields = [
                ("Set-Cookie", f"session={name}; Path=/; HttpOnly"),
                ("Set-Cookie", "seen=1"),
                ("Set-Cookie", "hint=; Path=/login; Max-Age=0"),
                ("Set-Cookie", "safe=1; Path=/; Secure"),
                ("Set-Cookie", f"api={name}; Path=/api/"),
            ]
            return answer(200, fields, {"user": form.get("user", "")})
        if (method, path) == ("POST", "/token"):
            if not session or not session["is_in"]:
                self.breaks("no log-in")
                return answer(401, [], {})
            if json.loads(body) != {"grant": "session", "user": user}:
                self.breaks("body", body.decode())
            token = self.fresh("t")
            self.tokens[token] = (user, time.monotonic() + self.token_ttl)
            return answer(200, [], {"token": {"access": token, "note": "a \"b\"\n\\c"}})
        if path.startswith("/api/"):
            kind, _, token = headers.get("authorization", "").partition(" ")
            owner, expires_at = self.tokens.get(token, (None, 0))
            if kind != "Bearer" or owner is None:
                self.breaks("no token", headers.get("authorization", ""))
                return answer(401, [], {})
            if owner != user:
                self.breaks("foreign token", f"{user} has that of {owner}")
            if time.monotonic() > expires_at:
                self.breaks("expired token")
                return answer(401, [], {})
            if method == "POST" and json.loads(body).get("note") != "a \"b\"\n\\c":
                self.breaks("escapes", body.decode())
            return answer(200, [], {"ok": True})
        self.breaks("unknown path", path)
        return answer(404, [], {})

    def counts(self):
        return {
            "versions": f"Python {platform.python_version()}, {self.library} {version(self.library)}",
            "requests": dict(self.requests),
            "broken": dict(self.broken),
            "examples": self.examples,
            "users": len([user for user in self.jars if user]),
            "tokens": len(self.tokens),
        }


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token-ttl", type=float, default=900.0)
    parser.add_argument("--certificate", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("--http2", action="store_true", help="serve by hypercorn")
    return parser.parse_args()


async def serve_http2(options, shop, stop):
    """Serves HTTP/2, and HTTP/1.1, by hypercorn."""
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    async def app(scope, receive, send):
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {}
        for name, value in scope["headers"]:
            # Cookies may come in several fields (RFC 9113, 8.2.3).
            name, value = name.decode(), value.decode()
            both = f"{headers[name]}; {value}" if name == "cookie" and name in headers else value
            headers[name] = both
        target = scope["raw_path"].decode()
        status, fields, body = shop.handle(scope["method"], target, headers, body)
        fields = [(name.lower().encode(), value.encode()) for name, value in fields]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    listening = socket.create_server(("127.0.0.1", options.port), backlog=20_000)
    port = listening.getsockname()[1]
    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.accesslog = None
    config.errorlog = None
    config.h2_max_concurrent_streams = 1_000
    config.keep_alive_max_requests = 1_000_000_000
    if options.certificate:
        config.certfile, config.keyfile = options.certificate
    print(f"listening on {shop.scheme}://127.0.0.1:{port}", flush=True)
    await serve(app, config, shutdown_trigger=stop.wait)


async def serve_http1(options, shop, stop):
    """Serves HTTP/1.1 by aiohttp."""
    from aiohttp import web

    async def handler(request):
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        status, fields, body = shop.handle(request.method, request.raw_path, headers, body)
        response = web.Response(status=status, body=body)
        response.headers.popall("Content-Type", None)
        for name, value in fields:
            response.headers.add(name, value)
        return response

    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.certificate)
    runner = web.AppRunner(web.Application(), access_log=None)
    runner.app.router.add_route("*", "/{path:.*}", handler)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, ssl_context=context, backlog=20_000)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    print(f"listening on {shop.scheme}://127.0.0.1:{port}", flush=True)
    await stop.wait()
    await runner.cleanup()


async def main():
    options = arguments()
    scheme = "https" if options.certificate else "http"
    library = "hypercorn" if options.http2 else "aiohttp"
    shop = Shop(scheme, library, options.seed, options.token_ttl)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await (serve_http2 if options.http2 else serve_http1)(options, shop, stop)
    with open(options.log, "w", encoding="utf-8") as log:
        json.dump(shop.counts(), log)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
