"""A WebSocket server on `websockets`, which echoes, pushes, closes and aborts as its seed decides.

A share of messages is not echoed: the server closes the connection with a code, aborts it or stays
silent. A share of upgrades is refused. At SIGTERM it writes its counters as one JSON object.
"""

import argparse
import asyncio
import json
import platform
import random
import signal
from collections import Counter
from importlib.metadata import version

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

CODES = [1000, 1001, 1011, 1012, 1013, 4000, 4999]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--push", type=float, default=0, help="share with a message of its own")
    parser.add_argument("--close", type=float, default=0, help="share with a Close frame")
    parser.add_argument("--abort", type=float, default=0, help="share with the connection's end")
    parser.add_argument("--silent", type=float, default=0, help="share without an echo")
    parser.add_argument("--refuse", type=float, default=0, help="share of upgrades")
    parser.add_argument("--fragment", type=float, default=0, help="share in several frames")
    parser.add_argument("--delay-ms", type=float, default=0, help="most time to an echo")
    parser.add_argument("--ping-ms", type=float, help="time between Pings")
    return parser.parse_args()


class Server:
    def __init__(self, options):
        self.options, self.upgrades, self.counts = options, 0, Counter()

    def refuse(self, connection, _request):
        """Refuses a share of the upgrades."""
        self.upgrades += 1
        draw = random.Random(f"{self.options.seed}/{self.upgrades}")
        if draw.random() < self.options.refuse:
            self.counts["refused"] += 1
            return connection.respond(503, "busy\n")
        connection.draw = draw
        self.counts["upgraded"] += 1

    async def handle(self, connection):
        self.counts["deflated"] += bool(connection.protocol.extensions)
        try:
            async for message in connection:
                if not await self.answer(connection, message):
                    return
        except ConnectionClosed:
            pass
        finally:
            protocol = connection.protocol
            if protocol.close_rcvd and protocol.close_rcvd_then_sent:
                self.counts[f"close {protocol.close_rcvd.code} received"] += 1

    async def answer(self, connection, message):
        """Answers a message; false if the connection ends by it."""
        options, draw, counts = self.options, connection.draw, self.counts
        counts["messages"] += 1
        counts["bytes"] += len(message.encode() if isinstance(message, str) else message)
        if options.delay_ms:
            await asyncio.sleep(draw.random() * options.delay_ms / 1000)
        if draw.random() < options.push:
            pushed = json.dumps({"push": counts["pushes"]})
            await connection.send(pushed)
            counts["pushes"] += 1
            counts["push bytes"] += len(pushed)
        shares = [options.close, options.abort, options.silent]
        shares.append(1 - sum(shares))
        [end] = draw.choices(["close", "abort", "silent", "echo"], shares)
        if end == "close":
            code = draw.choice(CODES)
            counts[f"close {code}"] += 1
            await connection.close(code, "ordered")
        elif end == "abort":
            counts["aborted"] += 1
            connection.transport.abort()
        elif end == "silent":
            counts["silent"] += 1
        else:
            # Counted before, as its sender may wait while the client has it.
            counts["echoes"] += 1
            is_split = draw.random() < options.fragment and len(message) > 1
            middle = len(message) // 2
            await connection.send([message[:middle], message[middle:]] if is_split else message)
        return end in ("silent", "echo")


async def main():
    options = arguments()
    server, ending = Server(options), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    pings = options.ping_ms / 1000 if options.ping_ms else None
    limits = {"max_size": 1 << 24, "ping_interval": pings, "close_timeout": 1}
    async with serve(
        server.handle, "127.0.0.1", 0, process_request=server.refuse, **limits
    ) as listener:
        port = listener.sockets[0].getsockname()[1]
        print(f"listening on http://127.0.0.1:{port}", flush=True)
        await ending.wait()
        # The last connections may still be closing.
        await asyncio.sleep(0.1)
        versions = f"websockets {version('websockets')}, Python {platform.python_version()}"
        with open(options.log, "w") as log:
            print(json.dumps({"versions": versions} | server.counts), file=log)


asyncio.run(main())
