/**
 * Asks hosts for the signatures of their screens, and compares them.
 *
 * Promise: a host that fails, is late or is of before signatures has a row that says so, and makes no other one stand out.
 */
import { RemoteError } from "../../../client/carrier";
import type { ConnectionPool } from "../../../client/connection-pool";
import { callRemote } from "../../../client/remote-call";
import { serverOfHost } from "../../../lib/per-server";
import { patienceFor, runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import { mapInSlices } from "../../../lib/turn";
import { signatureEndpoint } from "../../../wire/screen/signature";
import type { AddressBook } from "../address-book";
import type { Host } from "../host";
import type { PollOptions } from "../poll";
import { compareScreens, ODD_FROM, type Verdict } from "./compare";
import { createPreparing, type PreparedScreen, type SignedHost } from "./prepared";
import type { OddHost } from "./rows";

/** The largest answer, in bytes: a signature has a tenth of it. */
const MAX_BYTES = 131_072;

/** How hosts are asked. */
export interface AskOptions extends Pick<PollOptions, "concurrency" | "timeoutMs" | "signal"> {
  /** The name of the token that asks; null for the owner. */
  readonly client: string | null;
  /** Connections that wait for the next look. */
  readonly kept: ConnectionPool;
  /** The version of svc of a host; null where it is not known. */
  versionOf(host: Host): string | null;
  /** Called once for each host that has answered, or has not. */
  asked?(): void;
}

/**
 * The rows of `hosts`: those that stand out first, and those of which nothing is known last.
 *
 * @param on the selection: where it names tags, hosts are compared by these.
 */
export async function lookForOdd(
  book: Pick<AddressBook, "reach">,
  hosts: readonly Host[],
  on: string,
  options: AskOptions,
): Promise<OddHost[]> {
  const { concurrency, timeoutMs } = options;
  const pool = { slots: concurrency, patienceMs: patienceFor(timeoutMs), serverOf: serverOfHost };
  const prepare = createPreparing();
  const answers = await runPool(hosts, pool, async (host): Promise<PreparedScreen | OddHost> => {
    const answer = await askOne(book, host, options);
    options.asked?.();
    // As they come, so that nothing waits for all of them.
    return "signature" in answer ? prepare(answer) : answer;
  });
  const screens = answers.filter((answer): answer is PreparedScreen => "titles" in answer);
  const verdicts = await compareScreens(screens, tagsIn(on));
  const sums = new Map(verdicts.map(({ label, sum }) => [label, sum]));
  const rows = [
    ...(await mapInSlices(verdicts, rowOf)),
    ...answers.filter((answer): answer is OddHost => "state" in answer),
  ];
  return rows.sort(
    (a, b) =>
      ORDER[a.state] - ORDER[b.state] ||
      (b.score ?? 0) - (a.score ?? 0) ||
      (sums.get(b.label) ?? 0) - (sums.get(a.label) ?? 0),
  );
}

const ORDER = { odd: 0, alike: 1, cannot_tell: 2, failed: 3, not_asked: 4 } as const;

const tagsIn = (on: string): string[] =>
  on
    .split(",")
    .map((term) => term.trim().normalize("NFC"))
    .filter((term) => term.startsWith("tag:"))
    .map((term) => term.slice(4));

function rowOf({ label, tag, others, score, why }: Verdict): OddHost {
  const state = score === null ? "cannot_tell" : score >= ODD_FROM ? "odd" : "alike";
  return { label, state, score, tag, others, why };
}

async function askOne(
  book: Pick<AddressBook, "reach">,
  host: Host,
  { timeoutMs, signal, client, kept, versionOf }: AskOptions,
): Promise<SignedHost | OddHost> {
  const { label, tags } = host;
  const nothing = { label, score: null, tag: null, others: 0 };
  try {
    const server = { ...book.reach(host), kept };
    const signature = await callRemote(server, signatureEndpoint, {}, timeoutMs, signal, client, MAX_BYTES);
    return { label, tags, signature };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    if (!/^HTTP 404\b/.test(error.message))
      return { ...nothing, state: "failed", why: printable(error.message, 300) };
    const version = versionOf(host);
    const which = version === null ? "its svc" : `svc ${printable(version, 40)}`;
    return { ...nothing, state: "not_asked", why: `not asked: ${which} has no signatures of screens` };
  }
}
