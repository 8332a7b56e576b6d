/** `bun forward.ts FROM-HOST FROM-PORT TO-HOST TO-PORT`: a TCP forwarder, for signalling between networks. */
import { connect, createServer } from "node:net";

const [fromHost, fromPort, toHost = "", toPort] = process.argv.slice(2);
createServer((client) => {
  const server = connect(Number(toPort), toHost);
  client.on("error", () => server.destroy());
  server.on("error", () => client.destroy());
  client.pipe(server).pipe(client);
}).listen(Number(fromPort), fromHost, () => console.log("ready"));
