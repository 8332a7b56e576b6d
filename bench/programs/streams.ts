/**
 * `streams.ts URL TOKENS COUNT`: follows the ends of runs at URL over COUNT connections, with the tokens (separated by commas), and prints a line when all are open. For each line on stdin it asks for a run, and prints after how many milliseconds each
 * stream had its end, counted from the time that the event has: a list of JSON.
 */
import { connect } from "node:net";

const [url = "", tokens = "", count = "0"] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const names = tokens.split(",");
const now = () => performance.timeOrigin + performance.now();

async function open(token: string) {
  const socket = connect({ host: hostname, port: Number(port) });
  const stream = { text: "", ended: (_delay: number) => {} };
  const opened = Promise.withResolvers<void>();
  socket.on("error", opened.reject);
  socket.on("data", (bytes) => {
    const at = now();
    stream.text += bytes.toString("latin1");
    if (stream.text.includes("event: mark")) opened.resolve();
    const [, sent] = /event: run\.ended\ndata: \{"at":"([^"]+)"/.exec(stream.text) ?? [];
    if (sent !== undefined) stream.ended(at - Date.parse(sent));
  });
  const head = [
    "GET /events?types=run.ended HTTP/1.1",
    `Host: ${hostname}`,
    `Authorization: Bearer ${token}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  await opened.promise;
  return stream;
}

const streams: Array<Awaited<ReturnType<typeof open>>> = [];
/** The first token is that of the host, for which the last places are. */
const [own = "", ...others] = names;
for (let nth = 0; nth < Number(count); nth++)
  streams.push(await open(nth < 64 ? own : (others[nth % others.length] ?? "")));
console.log(streams.length);

for await (const _ of console) {
  const delays = streams.map((stream) => {
    stream.text = "";
    const { promise, resolve } = Promise.withResolvers<number>();
    stream.ended = resolve;
    return promise;
  });
  const headers = { authorization: `Bearer ${own}`, "content-type": "application/json" };
  const body = JSON.stringify({ actions: [["AC_sleep", [0]]] });
  await fetch(`${url}/execute`, { method: "POST", headers, body });
  console.log(JSON.stringify(await Promise.all(delays)));
}
