"""A gRPC server of broken responses, and what grpcio makes of each.

Each address from 127.0.0.1 on has one response, by hand in frames of HTTP/2, to every call. A
client of grpcio calls each of them once. At SIGTERM the log gets its statuses: a JSON object on each
line, first the versions, then the responses in the order of their addresses.
"""

import argparse
import json
import platform
import signal
import socket
import struct
import threading

import grpc
from google.protobuf import wrappers_pb2

HEADERS, DATA, SETTINGS, PING = 1, 0, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = 24
MESSAGE = b"\0\0\0\0\4\x0a\2hi"
OK = [("grpc-status", "0")]
GZIP, SNAPPY = [("grpc-encoding", "gzip")], [("grpc-encoding", "snappy")]

# Name, fields of the head, body, and fields of the trailers; None without them.
RESPONSES = [
    ("whole", [], MESSAGE, OK),
    ("whole, of an encoding that it does not use", GZIP, MESSAGE, OK),
    ("cut in its content", [], MESSAGE[:6], OK),
    ("cut in its prefix", [], MESSAGE[:3], OK),
    ("a length of 4 GiB", [], b"\0\xff\xff\xff\xffabc", OK),
    ("bytes behind it", [], MESSAGE + b"\0\0", OK),
    ("none", [], b"", OK),
    ("two", [], MESSAGE * 2, OK),
    ("an unknown flag", [], b"\2" + MESSAGE[1:], OK),
    ("compressed without an encoding", [], b"\1" + MESSAGE[1:], OK),
    ("of an unknown encoding, compressed", SNAPPY, b"\1" + MESSAGE[1:], OK),
    ("of an unknown encoding, not compressed", SNAPPY, MESSAGE, OK),
    ("compressed and damaged", GZIP, b"\1" + MESSAGE[1:], OK),
    ("status in the head, no trailers", OK, MESSAGE, None),
    ("status in the head, other trailers", OK, MESSAGE, [("x-other", "a")]),
    ("no status", [], MESSAGE, []),
    ("no protobuf", [], b"\0\0\0\0\2\xff\xff", OK),
    ("status 5", [], b"", [("grpc-status", "5")]),
    ("status 5 after a message", [], MESSAGE, [("grpc-status", "5")]),
    ("status 99", [], b"", [("grpc-status", "99")]),
]


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def block(fields):
    """Returns literals without a name in a table (RFC 7541 §6.2.2)."""
    out = b""
    for name, value in fields:
        out += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return out


def response(stream, head, body, trailers):
    media_type = [("content-type", "application/grpc")]
    out = frame(HEADERS, END_HEADERS, stream, b"\x88" + block(media_type + head))
    out += frame(DATA, 0 if trailers is not None else END_STREAM, stream, body)
    if trailers is not None:
        out += frame(HEADERS, END_HEADERS | END_STREAM, stream, block(trailers))
    return out


def serve(place, peer):
    """Answers each call on a connection with the response of its address."""
    reader = peer.makefile("rb")
    reader.read(PREFACE)
    peer.sendall(frame(SETTINGS, 0, 0, b""))
    while len(header := reader.read(9)) == 9:
        kind, flags, stream = header[3], header[4], int.from_bytes(header[5:], "big")
        payload = reader.read(int.from_bytes(header[:3], "big"))
        if kind in (SETTINGS, PING) and not flags & ACK:
            peer.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        # The call is whole with the end of its body.
        elif kind in (HEADERS, DATA) and flags & END_STREAM:
            peer.sendall(response(stream, *RESPONSES[place][1:]))


def connection(place, peer):
    try:
        serve(place, peer)
    except OSError:
        pass
    finally:
        peer.close()


def accept(place, listener):
    while True:
        peer, _address = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=connection, args=[place, peer], daemon=True).start()


def verdict(target):
    """Returns the status with which a client of grpcio ends a call."""
    with grpc.insecure_channel(target) as channel:
        call = channel.unary_unary(
            "/demo.Echo/Say",
            request_serializer=wrappers_pb2.StringValue.SerializeToString,
            response_deserializer=wrappers_pb2.StringValue.FromString,
        )
        try:
            answer = call(wrappers_pb2.StringValue(value="a"), timeout=1)
            return "OK" if answer is not None else "no message"
        except grpc.RpcError as error:
            return error.code().name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seed")
    options = parser.parse_args()
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    port = 0
    for place in range(len(RESPONSES)):
        listener = socket.create_server((f"127.0.0.{place + 1}", port), backlog=100)
        port = listener.getsockname()[1]
        threading.Thread(target=accept, args=[place, listener], daemon=True).start()
    statuses = [verdict(f"127.0.0.{place + 1}:{port}") for place in range(len(RESPONSES))]
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    ending.wait()
    with open(options.log, "w") as log:
        versions = f"grpcio {grpc.__version__}, Python {platform.python_version()}"
        print(json.dumps({"versions": versions}), file=log)
        for (name, *_rest), status in zip(RESPONSES, statuses):
            print(json.dumps({"response": name, "grpcio": status}), file=log)


main()
