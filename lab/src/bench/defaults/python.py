"""A server of the bench's section `defaults`: asyncio's own protocols with one short answer for
every path but /counts, where it says how many connections and requests it has had."""

import asyncio
import json

BODY = b"Hello, World!\n"
FIELDS = b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(BODY)
ANSWER = b"HTTP/1.1 200 OK\r\n" + FIELDS + BODY
# ab speaks HTTP/1.0, and without this field it waits until the connection is closed.
ANSWER_1_0 = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + FIELDS + BODY


class Answering(asyncio.Protocol):
    """One connection. Requests have no bodies."""

    accepted = 0
    requests = 0

    def connection_made(self, transport):
        Answering.accepted += 1
        self.transport = transport
        self.unread = b""

    def data_received(self, data):
        *heads, self.unread = (self.unread + data).split(b"\r\n\r\n")
        for head in heads:
            if head.startswith(b"GET /counts "):
                counts = {"accepted": Answering.accepted, "requests": Answering.requests}
                self.transport.write(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(counts).encode())
                self.transport.close()
                return
            Answering.requests += 1
            self.transport.write(ANSWER_1_0 if b" HTTP/1.0\r\n" in head else ANSWER)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0, backlog=4096)
    port = server.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}/", flush=True)
    await server.serve_forever()


asyncio.run(main())
