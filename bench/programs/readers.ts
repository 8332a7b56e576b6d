/**
 * `readers.ts URL COUNT`: asks for URL over COUNT connections and never reads an answer. Prints a line when all have asked, and
 * keeps them open until it is ended. On Linux they come from a hundred addresses, so that no limit of one client ends them.
 */
import { connect, type Socket } from "node:net";

const ADDRESSES = 100;

const [url = "", count = "0"] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const request = `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept-Encoding: identity\r\n\r\n`;
const sockets: Socket[] = [];
for (let nth = 0; nth < Number(count); nth++) {
  const from = process.platform === "linux" ? { localAddress: `127.0.1.${1 + (nth % ADDRESSES)}` } : {};
  const socket = connect({ host: hostname, port: Number(port), ...from });
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("error", () => {});
  socket.pause();
  socket.write(request);
  sockets.push(socket);
}
console.log(sockets.length);
