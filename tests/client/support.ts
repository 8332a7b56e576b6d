/** Servers that do not behave, and certificates for those that do. */
import { createServer, type Socket } from "node:net";
import { join } from "node:path";

/** A TCP server on a free port of loopback that does what `behave` says with each connection. */
export async function rawServer(
  behave: (socket: Socket) => void,
): Promise<AsyncDisposable & { readonly url: string; readonly seen: string[] }> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => seen.push(bytes.toString("latin1")));
    behave(socket);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A server that answers every request with `text`, as it stands. */
export const answering = (text: string) => rawServer((socket) => socket.on("data", () => socket.write(text)));

/** A response of 200 with `body`. */
export const ok = (body: string, type = "application/json") =>
  `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** What a host without sessions answers to `GET /sessions`. */
export const IDLE_SESSIONS = JSON.stringify({
  host: { running: false, port: 0, connected_clients: 0, host_id: null },
  viewer: { connected: false, host_id: null },
});

/** Paths of a self-signed certificate and its key, made by openssl in `folder`; and its SHA-256 as openssl says it. */
export function selfSigned(folder: string, name: string, subject: string) {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const openssl = (...args: string[]) => {
    const run = Bun.spawnSync(["openssl", ...args]);
    if (run.exitCode !== 0) throw new Error(run.stderr.toString());
    return run.stdout.toString();
  };
  const made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl(
    "req",
    ...made,
    "-subj",
    "/CN=test",
    "-addext",
    `subjectAltName=${subject}`,
    "-keyout",
    key,
    "-out",
    cert,
  );
  const printed = openssl("x509", "-in", cert, "-noout", "-fingerprint", "-sha256");
  return { cert, key, sha256: printed.slice(printed.indexOf("=") + 1).trim() };
}
