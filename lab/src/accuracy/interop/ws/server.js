// A WebSocket server on `ws`, which echoes, pushes, closes and aborts as its seed decides, as
// websockets_server.py does.
"use strict";

const fs = require("fs");
const http = require("http");
const { WebSocketServer } = require("ws");
const { version } = require("ws/package.json");

const CODES = [1000, 1001, 1011, 1012, 1013, 4000, 4999];

const options = { seed: 1, push: 0, close: 0, abort: 0, silent: 0, refuse: 0, fragment: 0 };
options["delay-ms"] = options["ping-ms"] = 0;
for (let at = 2; at < process.argv.length; at += 2) {
  const [name, value] = [process.argv[at].slice(2), process.argv[at + 1]];
  options[name] = name === "log" ? value : Number(value);
}

// Numbers below 1 of Weyl's sequence, mixed.
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const counts = {};
const count = (name, by = 1) => { counts[name] = (counts[name] || 0) + by; };

function answer(socket, draw, message, isBinary) {
  if (draw() < options.push) {
    const pushed = JSON.stringify({ push: counts.pushes || 0 });
    socket.send(pushed);
    count("pushes");
    count("push bytes", pushed.length);
  }
  const end = draw();
  if (end < options.close) {
    const code = CODES[Math.floor(draw() * CODES.length)];
    count(`close ${code}`);
    socket.ended = true;
    socket.close(code, "ordered");
  } else if (end < options.close + options.abort) {
    count("aborted");
    socket.ended = true;
    socket.terminate();
  } else if (end < options.close + options.abort + options.silent) {
    count("silent");
  } else {
    count("echoes");
    if (draw() < options.fragment && message.length > 1) {
      const middle = message.length >> 1;
      socket.send(message.subarray(0, middle), { binary: isBinary, fin: false });
      socket.send(message.subarray(middle), { binary: isBinary, fin: true });
    } else {
      socket.send(message, { binary: isBinary });
    }
  }
}

const listener = http.createServer();
const server = new WebSocketServer({
  noServer: true, maxPayload: 1 << 24, perMessageDeflate: { threshold: 100 },
});
let upgrades = 0;
listener.on("upgrade", (request, connection, begin) => {
  const draw = numbers(options.seed * 7919 + upgrades++);
  if (draw() < options.refuse) {
    count("refused");
    // The client may have closed it before.
    connection.on("error", () => {});
    const head = ["HTTP/1.1 503 Service Unavailable", "Content-Length: 0", "Connection: close"];
    connection.end(head.join("\r\n") + "\r\n\r\n");
    return;
  }
  server.handleUpgrade(request, connection, begin, (socket) => {
    count("upgraded");
    count("deflated", socket.extensions ? 1 : 0);
    const pings = options["ping-ms"] && setInterval(() => socket.ping(), options["ping-ms"]);
    socket.on("message", (message, isBinary) => {
      if (socket.ended) return;
      count("messages");
      count("bytes", message.length);
      const delay = draw() * options["delay-ms"];
      if (delay > 0) setTimeout(() => answer(socket, draw, message, isBinary), delay);
      else answer(socket, draw, message, isBinary);
    });
    socket.on("error", () => count("errors"));
    socket.on("close", (code) => {
      clearInterval(pings);
      if (!socket.ended && code !== 1006) count(`close ${code} received`);
    });
  });
});
listener.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${listener.address().port}`);
});
process.on("SIGTERM", () => {
  // The last connections may still be closing.
  setTimeout(() => {
    const versions = `ws ${version}, Node ${process.version}`;
    fs.writeFileSync(options.log, JSON.stringify({ versions, ...counts }) + "\n");
    process.exit(0);
  }, 100);
});
