# Delays packets between two TUN devices by the time given in ms, in both directions. It prints a
# line once the devices exist; they may then be moved into namespaces (tun(4)).
import collections, fcntl, os, select, struct, sys, time
delay = float(sys.argv[1]) / 1000
def tun(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
    return device
ends = [tun(name) for name in sys.argv[2:4]]
held = [collections.deque(), collections.deque()]
print("ready", flush=True)
while True:
    due = [queue[0][0] for queue in held if queue]
    wait = max(0, min(due) - time.monotonic()) if due else 1
    for device in select.select(ends, [], [], wait)[0]:
        at = ends.index(device)
        while True:
            try:
                held[at].append((time.monotonic() + delay, os.read(device, 65536)))
            except OSError:
                break
    now = time.monotonic()
    for at, queue in enumerate(held):
        while queue and queue[0][0] <= now:
            try:
                os.write(ends[1 - at], queue.popleft()[1])
            except OSError:
                pass
