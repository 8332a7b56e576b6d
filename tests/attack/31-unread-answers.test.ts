/** Hosts that send much, for clients of a desk that read nothing. */
import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { answering, ok } from "../client/support";
import { TOKEN, testServer, until } from "../support";

const MIB = 1_048_576;

/** Asks for `path` and reads nothing but the head. Resolves to the status. */
function askWithoutReading(url: string, path: string, sockets: Socket[]): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(Number(port), hostname, () => {
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
  });
  sockets.push(socket);
  socket.on("error", reject).once("data", (bytes) => {
    socket.pause();
    resolve(Number(bytes.toString("latin1").split(" ")[1]));
  });
  return promise;
}

for (const path of ["metrics", "screen/thumbnail"]) {
  test(`a client that does not read what a host sends is refused more of it: ${path}`, async () => {
    await using host = await answering(ok("x".repeat(path === "metrics" ? 8 * MIB : 4 * MIB), "text/plain"));
    await using desk = await testServer();
    const book = await desk.service.addressBook();
    await book.add({ label: "lab", base_url: host.url, token: TOKEN, tags: [] });
    const sockets: Socket[] = [];
    try {
      const statuses: number[] = [];
      for (let nth = 0; nth < 40 && statuses.at(-1) !== 429; nth++)
        statuses.push(await askWithoutReading(desk.server.url, `/admin/hosts/lab/${path}`, sockets));
      expect(statuses.at(-1)).toBe(429);
      expect(new Set(statuses.slice(0, -1))).toEqual(new Set([200]));
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await until("those who have gone count no longer", async () => {
      const answer = await desk.call(`/admin/hosts/lab/${path}`);
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });
}
