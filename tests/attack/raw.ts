/** Requests as an attacker sends them: nothing makes them well-formed on their way. */
import { connect } from "node:net";
import { BINARY } from "../support";

/** The status of the answer to one GET, whose path and `Host` are sent as they are given. */
export async function statusOf(
  { url }: { readonly url: string },
  path: string,
  token?: string,
  host = "127.0.0.1",
): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    answer += text;
  });
  socket.on("error", reject);
  socket.on("close", () => resolve(answer));
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}Connection: close\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await promise)?.[1]);
}

/** Makes a named token for the server with the compiled binary. @param given the token, where svc does not make one. */
export async function addToken(
  { configDir }: { readonly configDir: string },
  name: string,
  { scope = "read", given }: { readonly scope?: string; readonly given?: string } = {},
): Promise<string> {
  const from = given === undefined ? [] : ["--token-file", "-"];
  const line = ["token", "add", name, "--scope", scope, "--json", "--config-dir", configDir, ...from];
  const child = Bun.spawn([BINARY, ...line], {
    stdio: [new Blob([given ?? ""]), "pipe", "inherit"],
  });
  const { token }: { token: string } = JSON.parse(await child.stdout.text());
  return token;
}
