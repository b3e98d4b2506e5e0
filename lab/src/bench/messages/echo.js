// IN_FLIGHT messages in flight on each connection, for as many seconds as SECONDS has.
import ws from "k6/ws";
import { Counter } from "k6/metrics";

const echoes = new Counter("echoes");
const connections = Number(__ENV.CONNECTIONS);

export const options = { vus: connections, iterations: connections };

export default function () {
  const end = Date.now() + 1000 * Number(__ENV.SECONDS);
  ws.connect(__ENV.URL, {}, (socket) => {
    socket.on("open", () => {
      for (let sent = 0; sent < Number(__ENV.IN_FLIGHT); sent++) socket.send(__ENV.BODY);
    });
    socket.on("message", () => {
      echoes.add(1);
      if (Date.now() < end) socket.send(__ENV.BODY);
      else socket.close();
    });
  });
}
