/** A desk whose hub is none: what it asks of a host goes to a server of this test, over http. */
import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { RemoteError } from "../../../src/client/carrier";
import { connectionTo } from "../../../src/client/connection";
import { configFiles } from "../../../src/lib/paths";
import type { Hub } from "../../../src/wire/link/links";
import { runToEnd, SVC, TOKEN, testServer } from "../../support";

/** The id of the linked host. */
export const ID = "0123456789abcdef0123456789abcdef";

/** That of a host without a link. */
export const GONE = "ffffffffffffffffffffffffffffffff";

export const entry = (label: string, id: string, ...tags: string[]) => ({
  label,
  base_url: `link:${id}`,
  tags,
  member: { host_id: id, host_key: "k".repeat(43), nonce: "n".repeat(22) },
});

export function fakeHub(url: string): Pick<Hub, "ask" | "open" | "links"> {
  const connection = (id: string, signal?: AbortSignal) => {
    if (id !== ID) throw new RemoteError("unreachable", "not linked (last seen never)", false);
    return connectionTo({ url, token: TOKEN, trust: { kind: "system" } }, signal);
  };
  return {
    links: () => [],
    async ask(id, request, limits, signal) {
      using carrier = connection(id, signal);
      const { status, body, retryAfterS } = await carrier.ask(request, limits);
      return { status, body, ...(retryAfterS !== undefined && { retryAfterS }) };
    },
    async open(id, path, deadline, silentMs, signal, asker) {
      const carrier = connection(id, signal);
      asker?.began(carrier);
      return carrier.open(path, deadline, silentMs);
    },
  };
}

/** A desk with the linked host `lab` and the host `gone`, which has no link; and that host itself. */
export async function linkedDesk(options: Parameters<typeof testServer>[0] = {}) {
  const host = await testServer();
  const desk = await testServer(options);
  const files = configFiles(desk.configDir);
  writeFileSync(
    files.formerAdminHosts,
    JSON.stringify({ hosts: [entry("lab", ID, "floor"), entry("gone", GONE)] }),
  );
  Object.assign(desk.service, { hub: () => fakeHub(host.server.url) });
  return {
    ...{ host, desk, files },
    /** Runs a subcommand on the desk, in another process. */
    async svc(...args: string[]) {
      const env = { ...process.env, SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: TOKEN };
      return runToEnd([...SVC, ...args], { env });
    },
    /** The rows of its server in the log of the desk, oldest first. */
    rows(): string[] {
      using db = new Database(files.auditLog, { readonly: true });
      const found = db
        .query("SELECT detail FROM events WHERE event_type IN ('rest_api', 'cli') ORDER BY id")
        .all();
      return (found as { detail: string }[]).map(({ detail }) => detail);
    },
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}
