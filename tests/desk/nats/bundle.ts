/** Bundles of NATS servers, and a real server that runs from one. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderBundle } from "../../../src/desk/nats/bundle";
import type { GivenSettings } from "../../../src/desk/nats/operations/server";
import { addDesk, newOperator, type Operator, revoke, serverTokens } from "../../../src/desk/nats/operator";
import { checkSettings } from "../../../src/desk/nats/settings";
import { writeBundle } from "../../../src/lib/server-bundle";
import { spkiPin } from "../../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../../src/trust/certificate";
import { mintHost, newUser } from "../../../src/wire/nats/desk-part";
import { temporaryFolder, until } from "../../support";

/** Settings that are good; what is in `changes` is not as usual. */
export const given = (changes: Partial<GivenSettings> = {}): GivenSettings => ({
  operator: "lab",
  url: ["tls://nats.example.org"],
  websocket: false,
  websocket_port: 443,
  max_connections: 1_000,
  ...changes,
});

/** The files. */
export function render(
  changes: Partial<GivenSettings> = {},
  keys: Operator = newOperator(makeKey()),
  region: string | null = null,
) {
  const settings = checkSettings(given(changes));
  const cert = makeCertificate(parseKey(keys.tls_key), settings.operator, settings.hosts, new Date());
  const own = settings.tls ? null : { cert, key: keys.tls_key };
  return {
    settings,
    cert,
    files: renderBundle(settings, serverTokens(settings.operator, keys), own, region),
  };
}

/** Texts by name. */
export const rendered = (changes: Partial<GivenSettings> = {}): Record<string, string> =>
  Object.fromEntries(render(changes).files.map(({ name, text }) => [name, text]));

/** A port of loopback that nobody uses. */
export function freePort(): number {
  const free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  free.stop(true);
  return free.port;
}

/**
 * A server on loopback, and its users; stopped when the scope ends.
 *
 * @param more for its configuration.
 * @param change its configuration.
 */
export async function startBundle({
  more = {},
  change = (conf) => conf,
}: {
  readonly more?: Partial<GivenSettings>;
  readonly change?: (conf: string, keys: Operator) => string | Promise<string>;
} = {}) {
  const folder = temporaryFolder();
  const port = freePort();
  const url = `tls://127.0.0.1:${port}`;
  let keys = newOperator(makeKey());
  const { cert, files } = render({ ...more, url: [url] }, keys);
  writeBundle(files, folder.path, true);
  const conf = join(folder.path, "nats-server.conf");
  writeFileSync(conf, await change(files[0]?.text ?? "", keys));
  const server = { urls: [url], pin: spkiPin(cert) };
  const child = Bun.spawn(["nats-server", "-c", "nats-server.conf", "-l", "log"], {
    cwd: folder.path,
    stdio: ["ignore", "ignore", "ignore"],
  });
  await until("the NATS server", () =>
    Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    ),
  );
  const desk = (name: string) => {
    const added = addDesk({ ...keys, server }, name, true);
    keys = added.keys;
    return { server, ...added.part.desk, part: added.part };
  };
  const first = desk("first");
  return {
    folder: folder.path,
    server,
    first,
    desk,
    host(expires?: number) {
      const user = newUser();
      return { server, ...user, jwt: mintHost(first.part, user.id, "host", expires) };
    },
    /** Revokes users, and lets the server read its configuration again. */
    revoke(...users: string[]) {
      keys = revoke(keys, users, new Date());
      writeFileSync(conf, render({ ...more, url: [url] }, keys).files[0]?.text ?? "");
      child.kill("SIGHUP");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}
