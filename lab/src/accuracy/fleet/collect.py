"""Collects the documents of a fleet's agents as they are published on the bus.

    python3 collect.py HOST PORT AGENTS DIRECTORY

It is a subscriber of the NATS protocol, and no client of JetStream: it keeps nothing from the
coordinator, which removes a run that it has reported. It prints `ready` when it listens, and
`complete` when it has written the document of each agent, named by the agent, into the directory.
"""

import hashlib
import pathlib
import socket
import sys

host, port, agents, directory = sys.argv[1:]
bus = socket.create_connection((host, int(port)))
bus.settimeout(120)
received = bus.makefile("rb")
received.readline()
bus.sendall(b'CONNECT {"verbose": false}\r\nSUB weir.run.*.result.> 1\r\nPING\r\n')


def message():
    """Returns subject and payload of the next message."""
    while words := received.readline().split():
        if words[0] == b"PONG":
            print("ready", flush=True)
        elif words[0] == b"PING":
            bus.sendall(b"PONG\r\n")
        elif words[0] == b"MSG":
            payload = received.read(int(words[-1]))
            received.readline()
            return words[1].decode(), payload
    sys.exit("collect: the bus has closed the connection")


chunks = {}
written = set()
while len(written) < int(agents):
    subject, payload = message()
    *_, agent, number = subject.split(".")
    head, chunk = payload.split(b"\n", 1)
    count, digest = head.decode().split(" ")
    of_agent = chunks.setdefault((agent, digest), {})
    # A chunk may come twice.
    of_agent[int(number)] = chunk
    if len(of_agent) == int(count):
        document = b"".join(of_agent[index] for index in sorted(of_agent))
        assert hashlib.sha256(document).hexdigest() == digest, agent
        pathlib.Path(directory, f"{agent}.json").write_bytes(document)
        written.add(agent)
print("complete", flush=True)
