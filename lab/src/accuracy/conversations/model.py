"""A mock server of a language model on aiohttp, which checks each conversation.

It speaks the streams of OpenAI's chat and responses, and of Anthropic's messages. `X-Session-ID`
names the session of a request. The server keeps the conversation of each, and compares each request
with it: the messages, and the bytes of the body with those that Python's clients send. An answer is
drawn from the seed, the session and the turn, so that a run can be repeated. At SIGTERM it writes
its log, a JSON object on each line: first its versions and the broken rules, then the requests.
Times are CLOCK_MONOTONIC in ns, those of writes before and after.
"""

import argparse
import asyncio
import collections
import json
import platform
import random
import signal
import time
from importlib.metadata import version

from aiohttp import web

# Words of answers, none with an ASCII space; half of them are hard to carry in JSON or in lines.
WORDS = [
    *"the of and to in is that it was for on are with as be at one have this from".split(),
    *"river water gate flow level weir bank stone mill bridge rain spring pond dam".split(),
    'a"quote"', '"', "back\\slash", "\\", "\\n", "\\u0041", "\\\"", "a/b", "</script>", "<b>&'",
    "line\nbreak", "\n", "\n\n", "end\n", "\ttab", "\t", "cr\r\nlf", "\r", "\b\f", "bell\x07",
    "nul\x00", "esc\x1b[0m", "unit\x1f", "del\x7f", "next\x85line", "no\u00a0break", "so\u00adft",
    "über", "Straße", "naïve", "e\u0301", "ﬁ", "İ", "水位", "堰", "こんにちは", "한국어", "नदी", "שלום",
    "line\u2028separator", "paragraph\u2029", "\ufeffmark", "\ufffd", "\uffff",
    "😀", "👩‍💻", "🇩🇪", "𝒲eir", "data:", "[DONE]", "data:[DONE]\n\n", "{", "}", '{"a":1}', "null",
    "${x}", "{{x}}", "%s", "%20", "+", "0", "-1e5",
]

TOKENS = [5, 60]
TOKENS_PER_CHUNK = [1, 8]

# Least time to the first chunk, what each token of the prompt adds, and between chunks.
FIRST_NS, PER_PROMPT_TOKEN_NS, GAP_NS = 5e6, 20e3, 4e6

EXAMPLE_CHARACTERS = 400


def tokens_of(text):
    """The number of tokens of a text: of its words between ASCII spaces."""
    return sum(1 for word in text.split(" ") if word)


def tokens_of_messages(messages):
    """The number of tokens of the contents of messages."""
    return sum(tokens_of(message.get("content") or "") for message in messages)


def to_json(value, is_ascii=False):
    return json.dumps(value, ensure_ascii=is_ascii, separators=(",", ":"))


class Answer:
    """The answer of a turn: its chunks, each with its number of tokens and of what they are."""

    def __init__(self, seed, session, turn, is_thinking):
        draw = random.Random(f"{seed}/{turn}/{session}")
        self.is_ascii = [draw.random() < 0.5 for _ in range(TOKENS[1] + 1)]
        content = self.chunks(draw, "content")
        thoughts = self.chunks(draw, "reasoning_content") if is_thinking else []
        self.parts = thoughts + content
        self.text = "".join(text for _, text, _ in content)
        self.tokens = sum(count for _, _, count in self.parts)
        self.reasoning = sum(count for _, _, count in thoughts)

    @staticmethod
    def chunks(draw, kind):
        left, chunks = draw.randint(*TOKENS), []
        while left:
            count = min(left, draw.randint(*TOKENS_PER_CHUNK))
            text = "".join(f" {word}" for word in draw.choices(WORDS, k=count))
            chunks.append((kind, text, count))
            left -= count
        return chunks


class Chat:
    """A stream of OpenAI's chat completions. The model `thinker` sends its reasoning too."""

    messages = "messages"

    def __init__(self, body, name, answer, prompt, cached):
        self.answer, self.prompt, self.cached = answer, prompt, cached
        options = body.get("stream_options")
        self.has_usage = isinstance(options, dict) and options.get("include_usage") is True
        self.head = {"id": f"chatcmpl-{name}", "object": "chat.completion.chunk"}
        self.head |= {"created": int(time.time()), "model": body.get("model")}

    def event(self, delta, finish_reason=None, is_ascii=False):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = self.head | {"choices": [choice]}
        if self.has_usage:
            chunk["usage"] = None
        return f"data: {to_json(chunk, is_ascii)}\n\n"

    def begin(self):
        return [self.event({"role": "assistant", "content": ""})]

    def delta(self, kind, text, is_ascii):
        return self.event({kind: text}, None, is_ascii)

    def end(self):
        events = [self.event({}, "stop")]
        if self.has_usage:
            usage = {"prompt_tokens": self.prompt, "completion_tokens": self.answer.tokens}
            usage["total_tokens"] = self.prompt + self.answer.tokens
            usage["prompt_tokens_details"] = {"cached_tokens": self.cached}
            usage["completion_tokens_details"] = {"reasoning_tokens": self.answer.reasoning}
            chunk = self.head | {"choices": [], "usage": usage}
            events.append(f"data: {to_json(chunk)}\n\n")
        return [*events, "data: [DONE]\n\n"]


class Responses:
    """A stream of OpenAI's responses. The whole text comes again in the events after the deltas."""

    messages = "input"

    def __init__(self, body, name, answer, prompt, cached):
        self.answer, self.prompt, self.cached = answer, prompt, cached
        self.number = 0
        self.place = {"item_id": f"msg_{name}", "output_index": 0, "content_index": 0}
        self.response = {"id": f"resp_{name}", "object": "response", "created_at": int(time.time())}
        self.response |= {"status": "in_progress", "model": body.get("model"), "error": None}
        self.response |= {"output": [], "usage": None}

    def event(self, kind, members, is_ascii=False):
        data = {"type": kind, **members, "sequence_number": self.number}
        self.number += 1
        return f"event: {kind}\ndata: {to_json(data, is_ascii)}\n\n"

    def item(self, status, content):
        return {
            "id": self.place["item_id"],
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    @staticmethod
    def part(text):
        return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}

    def begin(self):
        item = {"output_index": 0, "item": self.item("in_progress", [])}
        return [
            self.event("response.created", {"response": self.response}),
            self.event("response.in_progress", {"response": self.response}),
            self.event("response.output_item.added", item),
            self.event("response.content_part.added", self.place | {"part": self.part("")}),
        ]

    def delta(self, _kind, text, is_ascii):
        members = self.place | {"delta": text, "logprobs": []}
        return self.event("response.output_text.delta", members, is_ascii)

    def end(self):
        text, part = self.answer.text, self.part(self.answer.text)
        item = self.item("completed", [part])
        usage = {"input_tokens": self.prompt}
        usage["input_tokens_details"] = {"cached_tokens": self.cached}
        usage["output_tokens"] = self.answer.tokens
        usage["output_tokens_details"] = {"reasoning_tokens": self.answer.reasoning}
        usage["total_tokens"] = self.prompt + self.answer.tokens
        response = self.response | {"status": "completed", "output": [item], "usage": usage}
        return [
            self.event("response.output_text.done", self.place | {"text": text, "logprobs": []}),
            self.event("response.content_part.done", self.place | {"part": part}),
            self.event("response.output_item.done", {"output_index": 0, "item": item}),
            self.event("response.completed", {"response": response}),
        ]


class Messages:
    """A stream of Anthropic's messages, whose count of the prompt is without what was cached."""

    messages = "messages"

    def __init__(self, body, name, answer, prompt, cached):
        self.answer = answer
        usage = {"input_tokens": prompt - cached, "cache_creation_input_tokens": 0}
        usage |= {"cache_read_input_tokens": cached, "output_tokens": 1}
        self.message = {"id": f"msg_{name}", "type": "message", "role": "assistant"}
        self.message |= {"model": body.get("model"), "content": [], "stop_reason": None}
        self.message |= {"stop_sequence": None, "usage": usage}

    @staticmethod
    def event(kind, members, is_ascii=False):
        return f"event: {kind}\ndata: {to_json({'type': kind, **members}, is_ascii)}\n\n"

    def begin(self):
        block = {"index": 0, "content_block": {"type": "text", "text": ""}}
        return [
            self.event("message_start", {"message": self.message}),
            self.event("content_block_start", block),
        ]

    def delta(self, _kind, text, is_ascii):
        members = {"index": 0, "delta": {"type": "text_delta", "text": text}}
        return self.event("content_block_delta", members, is_ascii)

    def end(self):
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        usage = {"output_tokens": self.answer.tokens}
        return [
            self.event("content_block_stop", {"index": 0}),
            self.event("message_delta", {"delta": delta, "usage": usage}),
            self.event("message_stop", {}),
        ]


STREAMS = {"/v1/chat/completions": Chat, "/v1/responses": Responses, "/v1/messages": Messages}


class Session:
    """A conversation as it must be by now, and its number of answers."""

    def __init__(self):
        self.kept, self.answered, self.open = [], 0, 0


class Model:
    def __init__(self, seed):
        self.seed, self.sessions, self.log = seed, {}, []
        self.broken, self.examples = collections.Counter(), {}

    def breaks(self, rule, received="", expected=""):
        """Counts a broken rule. The first example begins a little before the first difference."""
        self.broken[rule] += 1
        if rule in self.examples:
            return
        pairs = enumerate(zip(received, expected))
        shorter = min(len(received), len(expected))
        differs_at = next((at for at, (one, other) in pairs if one != other), shorter)
        begin = max(0, differs_at - EXAMPLE_CHARACTERS // 4)
        part = slice(begin, begin + EXAMPLE_CHARACTERS)
        self.examples[rule] = f"received {received[part]!r}, expected {expected[part]!r}"

    def check(self, session, raw, body, messages):
        """Compares a request with its conversation, and returns its cached tokens."""
        if session.open:
            self.breaks("overlap", to_json(messages))
        # As httpx, and the clients of OpenAI and Anthropic, write it.
        expected = to_json(body)
        if raw != expected.encode():
            self.breaks("bytes", raw.decode(errors="backslashreplace"), expected)
        kept = session.kept
        if messages[: len(kept)] != kept:
            self.breaks("conversation", to_json(messages), to_json(kept))
            return 0
        added = messages[len(kept) :]
        count_is_good = len(added) == 1 if session.answered else len(added) > 0
        if not count_is_good or added[-1].get("role") != "user":
            self.breaks("new message", to_json(added), '[{"role":"user","content":"…"}]')
        return tokens_of_messages(kept)

    async def handle(self, request):
        received_ns = time.monotonic_ns()
        raw = await request.read()
        kind = STREAMS.get(request.path) if request.method == "POST" else None
        name = request.headers.get("X-Session-ID", "")
        if kind is None or not name:
            return self.refuse("request", f"{request.method} {request.path} of {name!r}")
        try:
            body = json.loads(raw)
            messages = body[kind.messages] if body["stream"] is True else None
        except (ValueError, KeyError, TypeError):
            messages = None
        if not messages or not all(isinstance(message, dict) for message in messages):
            return self.refuse("body", raw.decode(errors="backslashreplace"))
        return await self.stream(request, received_ns, kind, name, raw, body, messages)

    def refuse(self, rule, received):
        self.breaks(rule, received)
        error = {"type": "invalid_request_error", "message": rule}
        return web.json_response({"type": "error", "error": error}, status=400)

    async def stream(self, request, received_ns, kind, name, raw, body, messages):
        read_ns = time.monotonic_ns()
        session = self.sessions.setdefault(name, Session())
        turn = session.answered + 1
        cached = self.check(session, raw, body, messages)
        prompt = tokens_of_messages(messages)
        answer = Answer(self.seed, name, turn, kind is Chat and body.get("model") == "thinker")
        line = {"session": name, "turn": turn, "completed": False, "received_ns": received_ns}
        line |= {"reasoning_ns": None, "first_ns": None, "last_ns": None, "end_ns": None}
        line |= {"tokens": 0, "reasoning_tokens": 0, "chunks": 0}
        line |= {"prompt_tokens": prompt, "cached_tokens": cached}
        self.log.append(line)
        stream = kind(body, f"{turn}-{read_ns:x}", answer, prompt, cached)
        session.open += 1
        is_open = True
        try:
            response = await self.send_answer(request, stream, answer, line, read_ns)
            end_from_ns = time.monotonic_ns()
            *events, last = stream.end()
            for event in events:
                await self.write(request, response, event)
            # The next request may come before the last write returns.
            session.open -= 1
            is_open = False
            session.kept = [*messages, {"role": "assistant", "content": answer.text}]
            session.answered += 1
            line["end_ns"] = [end_from_ns, (await self.write(request, response, last))[1]]
            line["completed"] = True
            await response.write_eof()
            return response
        except (ConnectionError, asyncio.CancelledError):
            # The client has closed the connection, or the server ends: the line says so.
            return web.Response()
        finally:
            session.open -= is_open

    async def send_answer(self, request, stream, answer, line, read_ns):
        """Sends the head at once, then the chunks at their times."""
        head = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        response = web.StreamResponse(headers=head)
        await response.prepare(request)
        for event in stream.begin():
            await self.write(request, response, event)
        from_ns, wait_ns = read_ns, FIRST_NS + line["prompt_tokens"] * PER_PROMPT_TOKEN_NS
        for (kind, text, count), is_ascii in zip(answer.parts, answer.is_ascii * 2):
            event = stream.delta(kind, text, is_ascii)
            await sleep_until(from_ns + wait_ns)
            stamps = await self.write(request, response, event)
            line["tokens"] += count
            line["chunks"] += 1
            if kind == "content":
                line["first_ns"] = line["first_ns"] or stamps
            else:
                line["reasoning_tokens"] += count
                line["reasoning_ns"] = line["reasoning_ns"] or stamps
            line["last_ns"] = stamps
            from_ns, wait_ns = stamps[1], GAP_NS
        return response

    @staticmethod
    async def write(request, response, event):
        """Writes an event by itself, and returns the times before and after it."""
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError
        before_ns = time.monotonic_ns()
        await response.write(event.encode())
        return [before_ns, time.monotonic_ns()]

    def write_log(self, path):
        # The clocks differ by what is read between the two readings of one of them.
        before, unix, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        head = {"versions": f"aiohttp {version('aiohttp')}, Python {platform.python_version()}"}
        head |= {"unix_less_monotonic_ns": unix - (before + after) // 2}
        head |= {"sessions": len(self.sessions), "broken": self.broken, "examples": self.examples}
        with open(path, "w", encoding="utf-8") as log:
            for line in [head, *self.log]:
                print(json.dumps(line), file=log)


async def sleep_until(due_ns):
    """Sleeps no shorter; the event loop's timers are of 1 ms, rounded up."""
    while (wait_ns := due_ns - time.monotonic_ns()) > 0:
        await asyncio.sleep(wait_ns / 1e9)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    model = Model(options.seed)
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", model.handle)
    # Open streams may end within 2 s.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await ending.wait()
    await runner.cleanup()
    model.write_log(options.log)


asyncio.run(main())
