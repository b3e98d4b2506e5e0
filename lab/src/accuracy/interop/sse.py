"""A server of server-sent events, and a mock language model, on aiohttp.

It draws each stream from its seed and the request's `id`, so that a run can be repeated. At SIGTERM
it waits for its open streams and writes its log, a JSON object on each line: first its versions and
counters, then the streams in the order of their requests. Times are CLOCK_MONOTONIC in ns.
"""

import argparse
import asyncio
import json
import platform
import random
import signal
import socket
import struct
import time
from importlib.metadata import version
from urllib.parse import parse_qs

from aiohttp import web

# Closing a socket with it sends RST.
LINGER_NONE = struct.pack("ii", 1, 0)

# Events that carry no token, as servers of language models send them.
OTHERS = [
    '{"choices":[{"index":0,"delta":{"role":"assistant"}}]}',
    '{"choices":[{"index":0,"delta":{"content":""}}]}',
    '{"choices":[{"index":0,"delta":{"content":null}}]}',
    '{"choices":[],"usage":{"total_tokens":9}}',
    "no JSON",
    "",
]

# Errors in a stream, by the name of the event or by a member at the top.
ERRORS = [
    'event: error\ndata: {"message": "stopped"}',
    'data: {"error": {"message": "stopped", "code": 500}}',
    'data: {"id": 1, "error": "stopped"}',
]

# Lines that make no message.
NO_MESSAGES = [": keep-alive", ":", "retry: 3000", "id: 7", "event: ping", "unknown: x"]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, nargs=2, default=[0, 20])
    parser.add_argument("--size", type=int, nargs=2, default=[1, 40], help="characters of a token")
    parser.add_argument("--first-ms", type=float, default=2, help="least time to the first token")
    parser.add_argument("--first-jitter-ms", type=float, default=2, help="mean of what is added")
    parser.add_argument("--gap-ms", type=float, default=1, help="mean time between tokens")
    parser.add_argument("--gap-jitter-ms", type=float, default=0.5, help="standard deviation")
    parser.add_argument("--slow-first", type=float, default=0, help="share, 4 times slower")
    parser.add_argument("--slow-gap", type=float, default=0, help="share, 4 times slower")
    parser.add_argument("--bad", type=float, default=0, help="share with the status 503 or 429")
    parser.add_argument("--cut", type=float, default=0, help="share that ends with FIN")
    parser.add_argument("--reset", type=float, default=0, help="share that ends with RST")
    parser.add_argument("--silent", type=float, default=0, help="share that goes silent")
    parser.add_argument("--plain", action="store_true", help="tokens alone, in one line each")
    parser.add_argument("--error", type=float, default=0, help="share with an error in the stream")
    parser.add_argument("--unmarked", type=float, default=0, help="share without an end mark")
    parser.add_argument("--no-done", action="store_true", help="no end mark in any stream")
    parser.add_argument("--usage", type=float, default=0, help="share with a count of tokens")
    # A client sees an end mark on each connection before it can miss one.
    parser.add_argument("--whole", type=int, default=64, help="first streams that end well")
    return parser.parse_args()


class Event:
    """What is sent at one time: a token's message, and others before it."""

    def __init__(self, draw, options, line_end, counted):
        content = "".join(draw.choices("abcdeé \\\n", k=draw.randint(*options.size)))
        token = {"choices": [{"index": 0, "delta": {"content": content}}]}
        if counted is not None:
            token["usage"] = {"completion_tokens": counted}
        self.others, self.other_bytes, text = 0, 0, ""
        if options.plain:
            data, before, blank = json.dumps(token), "", " "
        else:
            if draw.random() < 0.3:
                text += draw.choice(NO_MESSAGES) + line_end + draw.choice(["", line_end])
            if draw.random() < 0.2:
                other = draw.choice(OTHERS)
                text += f"data: {other}{line_end}{line_end}"
                self.others, self.other_bytes = 1, len(other)
            # Each line of indented JSON is a data field of its own.
            indent = 1 if draw.random() < 0.2 else None
            data = json.dumps(token, ensure_ascii=draw.random() < 0.5, indent=indent)
            before = draw.choice(["", f"id: 1{line_end}", f":{line_end}", f"event: x{line_end}"])
            # Without a blank, the first of an indented line would be it.
            blank = " " if indent else draw.choice(["", " "])
        fields = "".join(f"data:{blank}{line}{line_end}" for line in data.split("\n"))
        self.text = (text + before + fields + line_end).encode()
        self.token_bytes = len(data.encode())


class Stream:
    """A stream as it is drawn: its end, and its events with the times from the request."""

    def __init__(self, options, number):
        draw = random.Random(f"{options.seed}/{number}")
        is_whole = number < options.whole
        self.status = draw.choice([503, 429]) if draw.random() < options.bad else 200
        self.status = 200 if is_whole else self.status
        shares = [options.cut, options.reset, options.silent]
        shares = [0, 0, 0] if is_whole else shares
        shares.append(1 - sum(shares))
        [self.end] = draw.choices(["cut", "reset", "silent", "complete"], shares)
        # A server may end a connection after any response.
        self.closes = not options.plain and draw.random() < 0.1
        self.line_end = "\n" if options.plain else draw.choice(["\n", "\r\n", "\r"])
        self.begin = b"" if options.plain else draw.choice([b"", b"\xef\xbb\xbf"])
        count = draw.randint(*options.events)
        self.has_done = not options.no_done and (is_whole or draw.random() >= options.unmarked)
        self.error = draw.choice(ERRORS) if not is_whole and draw.random() < options.error else None
        if self.end != "complete":
            count, self.has_done, self.error = draw.randint(0, count), False, None
        due_ms = options.first_ms + draw.expovariate(1) * options.first_jitter_ms
        due_ms *= 4 if draw.random() < options.slow_first else 1
        gap_ms = options.gap_ms * (4 if draw.random() < options.slow_gap else 1)
        self.events, counted = [], 0
        # Of vLLM, with each event; of OpenAI, with the last one.
        usage = draw.choice(["each", "last"]) if draw.random() < options.usage else None
        for _ in range(count):
            counted += draw.randint(1, 8)
            stated = counted if usage == "each" else None
            self.events.append((due_ms, Event(draw, options, self.line_end, stated)))
            due_ms += max(0, draw.gauss(gap_ms, options.gap_jitter_ms))
        self.usage = None
        if usage == "last":
            details = {"reasoning_tokens": draw.randint(0, counted)}
            self.usage = {"completion_tokens": counted, "completion_tokens_details": details}
        self.counted = counted if self.usage or (usage and count) else None


class Server:
    def __init__(self, options):
        self.options, self.accepted, self.log, self.open = options, 0, [], 0
        self.is_ending = asyncio.Event()

    async def handle(self, request):
        read_ns = time.monotonic_ns()
        query = parse_qs(request.rel_url.query_string)
        number = int(query["id"][0])
        stream = Stream(self.options, number)
        line = {"id": number, "read_ns": read_ns, "status": stream.status, "end": "client"}
        line |= {"tokens": [], "token_bytes": 0, "others": 0, "other_bytes": 0, "done": 0}
        line |= {"error": 0, "counted": None, "reasoning": 0}
        self.log.append(line)
        self.open += 1
        try:
            return await self.respond(request, stream, line)
        except (ConnectionError, asyncio.CancelledError):
            # The client has closed the connection: the line says so.
            return web.Response()
        finally:
            self.open -= 1

    async def respond(self, request, stream, line):
        if stream.status != 200:
            line["end"] = "complete"
            return web.Response(status=stream.status, text="busy\n")
        head = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        response = web.StreamResponse(headers=head)
        if stream.closes:
            response.force_close()
        await response.prepare(request)
        # The head must not wait for the first token.
        await response.write(stream.begin + b": open" + stream.line_end.encode())
        for due_ms, event in stream.events:
            wait_ns = line["read_ns"] + due_ms * 1e6 - time.monotonic_ns()
            await asyncio.sleep(max(0, wait_ns / 1e9))
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError
            # The second time is the same until the write has returned.
            stamps = [time.monotonic_ns()] * 2
            line["tokens"].append(stamps)
            line["token_bytes"] += event.token_bytes
            line["others"] += event.others
            line["other_bytes"] += event.other_bytes
            await response.write(event.text)
            stamps[1] = time.monotonic_ns()
        return await self.end(request, response, stream, line)

    async def end(self, request, response, stream, line):
        line_end = stream.line_end.encode()
        if stream.end == "complete":
            if stream.usage:
                data = json.dumps({"choices": [], "usage": stream.usage})
                line["others"] += 1
                line["other_bytes"] += len(data)
                line["reasoning"] = stream.usage["completion_tokens_details"]["reasoning_tokens"]
                await response.write(f"data: {data}".encode() + 2 * line_end)
            line["counted"] = stream.counted
            if stream.error:
                line["error"] = 1
                await response.write(stream.error.encode().replace(b"\n", line_end) + 2 * line_end)
            if stream.has_done:
                line["done"] = 1
                await response.write(b"data: [DONE]" + line_end + line_end)
            # It is complete once the last chunk is with the kernel.
            line["eof_ns"] = time.monotonic_ns()
            await response.write_eof()
            line["end"] = "complete"
        elif stream.end == "silent":
            line["end"] = "silent"
            while not (request.transport is None or request.transport.is_closing()):
                await asyncio.sleep(0.01)
        else:
            line["end"] = stream.end
            # Half of an event is none.
            await response.write(b"data: half")
            if stream.end == "reset":
                connection = request.transport.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
                request.transport.abort()
            else:
                request.transport.close()
        line["ended_ns"] = time.monotonic_ns()
        return response

    def write_log(self):
        # The clocks differ by what is read between the two readings of one of them.
        before, unix, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        head = {"accepted": self.accepted, "unix_less_monotonic_ns": unix - (before + after) // 2}
        head["versions"] = f"aiohttp {version('aiohttp')}, Python {platform.python_version()}"
        with open(self.options.log, "w") as log:
            for line in [head, *self.log]:
                print(json.dumps(line), file=log)


async def main():
    server = Server(arguments())
    handlers = web.Server(server.handle)

    def accept():
        server.accepted += 1
        return handlers()

    loop = asyncio.get_running_loop()
    listener = await loop.create_server(accept, "127.0.0.1", 0, backlog=1024)
    loop.add_signal_handler(signal.SIGTERM, server.is_ending.set)
    port = listener.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    await server.is_ending.wait()
    listener.close()
    for _ in range(200):
        if server.open == 0:
            break
        await asyncio.sleep(0.01)
    server.write_log()


asyncio.run(main())
