"""A gRPC server on grpcio, whose calls have the replies, status and end that their messages order.

Its schema is `service.json`, which reflection serves. The methods that stream to the server sum the
replies of the messages; status and cut are those of any message. At SIGTERM it waits for open calls
and writes its log, a JSON object on each line: first its versions, then the calls as they ended.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha import reflection

SERVICE = "interop.Interop"

parser = argparse.ArgumentParser()
parser.add_argument("--log", required=True)
parser.add_argument("--seed", type=int)
options = parser.parse_args()

schema = pathlib.Path(__file__).with_name("service.json").read_text()
pool = descriptor_pool.Default()
pool.Add(json_format.Parse(schema, descriptor_pb2.FileDescriptorProto()))
Call, Reply = (
    message_factory.GetMessageClass(pool.FindMessageTypeByName(f"interop.{name}"))
    for name in ("Call", "Reply")
)
codes = {code.value[0]: code for code in grpc.StatusCode}
lock, log = threading.Lock(), []


def respond(method, calls, context):
    """Yields the replies to the messages, and ends the call as they order."""
    line = {"method": method, "in": 0, "out": 0, "bytes": 0, "status": 0, "end": "client"}
    with lock:
        log.append(line)
    ordered, status, is_cut = 0, 0, False
    for call in calls:
        line["in"] += 1
        status, is_cut = status or call.status, is_cut or call.cut
        count = call.replies if method in ("Down", "Both") else 0
        for _ in range(count):
            line["out"] += 1
            reply = Reply(number=line["out"], padding=bytes(call.reply_bytes))
            line["bytes"] += reply.ByteSize()
            yield reply
        ordered += call.replies
    if is_cut:
        # grpcio ends a call that its server cancels with a status; what was sent must be with the
        # client before.
        time.sleep(0.05)
        line |= {"status": grpc.StatusCode.CANCELLED.value[0], "end": "complete"}
        context.cancel()
        return
    if status:
        line |= {"status": status, "end": "complete"}
        context.abort(codes[status], "ordered")
    if method in ("Unary", "Up"):
        line["out"] += 1
        yield Reply(number=ordered, padding=b"x")
    line["end"] = "complete"


def one(replies):
    """Returns the only reply; an empty one if the call was cut."""
    for reply in replies:
        last = reply
    return last if "last" in locals() else Reply()


serialize = {
    "request_deserializer": Call.FromString,
    "response_serializer": Reply.SerializeToString,
}
handlers = {
    "Unary": grpc.unary_unary_rpc_method_handler(
        lambda call, context: one(respond("Unary", [call], context)), **serialize
    ),
    "Down": grpc.unary_stream_rpc_method_handler(
        lambda call, context: respond("Down", [call], context), **serialize
    ),
    "Up": grpc.stream_unary_rpc_method_handler(
        lambda calls, context: one(respond("Up", calls, context)), **serialize
    ),
    "Both": grpc.stream_stream_rpc_method_handler(
        lambda calls, context: respond("Both", calls, context), **serialize
    ),
}
server = grpc.server(ThreadPoolExecutor(100))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
reflection.enable_server_reflection([SERVICE, reflection.SERVICE_NAME], server)
port = server.add_insecure_port("127.0.0.1:0")
ending = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ending.set())
server.start()
print(f"listening on http://127.0.0.1:{port}", flush=True)
ending.wait()
# A stop of grpcio may never end if a call was cut meanwhile.
server.stop(grace=2).wait(5)
versions = f"grpcio {grpc.__version__}, Python {platform.python_version()}"
with open(options.log, "w") as file:
    for line in [{"versions": versions}, *log]:
        print(json.dumps(line), file=file)
# Threads of such calls would keep the process.
os._exit(0)
