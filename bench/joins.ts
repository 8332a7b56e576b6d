/**
 * Joins of a desk that has 50,000 hosts, against those of a new one: each is checked, put on record, and on disk before its host has the
 * answer. The hosts in between are put into the address book at once, as members that have joined.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import type { Host } from "../src/desk/fleet/host";
import { accept } from "../src/desk/join/operations";
import { silentLog } from "../src/lib/log";
import { createService, type Service } from "../src/service/service";
import { hostIdOf } from "../src/trust/identity";
import { joinMessage } from "../src/wire/join/messages";
import { type Figure, temporaryFolder } from "./support";

const HOSTS = 50_000;
const MEASURED = 1_000;
const PIN = `spki:${"A".repeat(43)}`;

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const service = createService({ configDir: folder.path, log: silentLog, hub: true });
  try {
    await service.prepareFolder();
    const wanted = { tags: ["lab"], label_prefix: "", uses: 2 * MEASURED, address: "desk:9939", pin: PIN };
    const string = (await service.joinStrings()).add({ ...wanted, expires_s: 86_400 });
    const first = await joins(service, string, 0);
    const book = await service.addressBook();
    const between = Array.from({ length: HOSTS - 2 * MEASURED }, (_, nth) => memberAt(MEASURED + nth));
    await book.addAll(between, false);
    const last = await joins(service, string, HOSTS - MEASURED);
    if (book.hosts().length !== HOSTS) throw new Error(`expected ${HOSTS} hosts`);
    const each = (ms: number) => `${(ms / MEASURED).toFixed(2)} ms`;
    return [
      {
        name: `a join to a desk of ${HOSTS.toLocaleString("en")} hosts, against one to a new desk`,
        ratio: last / first,
        goal: "<= 1.3",
        detail: `${each(last)} / ${each(first)} each: the last ${MEASURED.toLocaleString("en")}, and the first`,
      },
    ];
  } finally {
    await service.stop();
  }
}

interface JoinSecret {
  readonly id: string;
  readonly secret: string;
}

/** How long so many joins take, one after the other, in milliseconds. */
async function joins(service: Service, string: JoinSecret, from: number): Promise<number> {
  const requests = Array.from({ length: MEASURED }, (_, nth) => requestOf(string, from + nth));
  const caller = localCaller(service, "api");
  const started = performance.now();
  for (const request of requests) await callOperation(service, accept, request, caller);
  return performance.now() - started;
}

/** What a host sends that keeps a link. */
function requestOf({ id, secret }: JoinSecret, nth: number) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const host_key = publicKey.export({ format: "jwk" }).x ?? "";
  const [name, token] = [`host-${nth}`, `token-of-${nth}`];
  const about = { id, host_key, name, token, dials: true as const, time: 1_700_000_000_000 + nth };
  const signature = sign(null, Buffer.from(joinMessage(PIN, about)), privateKey).toString("base64url");
  return { ...about, secret, signature };
}

function memberAt(nth: number): Host {
  const host_key = Buffer.from(new Bun.CryptoHasher("sha256").update(`${nth}`).digest()).toString(
    "base64url",
  );
  const host_id = hostIdOf(host_key);
  const member = {
    host_id,
    host_key,
    nonce: "n".repeat(22),
    request: "r".repeat(43),
    time: 1_700_000_000_000,
  };
  return { label: `host-${nth}`, base_url: `link:${host_id}`, tags: ["lab"], member };
}
