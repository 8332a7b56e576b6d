/**
 * The newest upgrade that a desk has ordered here, and what became of it. It is on disk, since the server that takes the order is restarted.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { isAlive } from "../../lib/alive";
import { failureOf, messageOf } from "../../lib/errors";
import { writeFileAtomic } from "../../lib/files";
import { jsonFileOf } from "../../lib/json-file";
import { isUnderWay, LONGEST_MS, readState, upgradeFiles } from "../../wire/release/files";
import { SIGNATURE_EXTENSION } from "../../wire/release/minisign";
import type { LastUpgrade } from "../../wire/release/released-binary";
import { interruption, type UpgradeOptions, upgrade } from "./upgrade";

/** The schema of an {@link Order}. */
export const ORDER = v.object({
  format: v.literal(1),
  id: v.string(),
  from: v.string(),
  to: v.string(),
  sha256: v.string(),
  began: v.string(),
  /** Of the process that carries it out; null until that has begun. */
  pid: v.optional(v.nullable(v.number()), null),
  /** Null while it is under way, and where its process has died. */
  ended: v.nullable(v.string()),
  /** Why it came to nothing; null also before its end. */
  error: v.nullable(v.string()),
});

type Order = v.InferOutput<typeof ORDER>;

/** How long the process of an order may take to begin, in milliseconds. */
export const START_MS = 60_000;

/** Its name in the folder of the files for upgrades. */
export const ORDER_FILE = "order.json";

const pathOf = (folder: string) => join(folder, ORDER_FILE);

/** @param folder that of the files for upgrades. @throws the system error. */
export function writeOrder(folder: string, order: Order): void {
  writeFileAtomic(pathOf(folder), `${JSON.stringify(order)}\n`);
}

/** The newest order; null where there was none, or its file cannot be read. */
export const readOrder = (folder: string): Order | null => jsonFileOf(pathOf(folder), ORDER) ?? null;

/** What root notes of an order beside the program, where nobody but root writes. */
const VERDICT = v.object({
  format: v.literal(1),
  ...v.pick(ORDER, ["id", "pid", "ended", "error"]).entries,
});

type Verdict = v.InferOutput<typeof VERDICT>;

/** @param binary the program, absolute and without links. @throws the system error. */
export function writeVerdict(binary: string, verdict: Verdict): void {
  writeFileAtomic(upgradeFiles(binary).verdict, `${JSON.stringify(verdict)}\n`, 0o644);
}

/** What root has noted last; null where that was nothing, or the file cannot be read. */
export const readVerdict = (binary: string): Verdict | null =>
  jsonFileOf(upgradeFiles(binary).verdict, VERDICT) ?? null;

/**
 * What became of the newest order.
 *
 * @param binary the program, absolute and without links.
 * @param version of this process.
 */
export function lastUpgrade(
  folder: string,
  binary: string,
  version: string,
  now = Date.now(),
): LastUpgrade | null {
  const found = readOrder(folder);
  if (!found) return null;
  const { id, from, to } = found;
  const verdict = readVerdict(binary);
  const order = verdict?.id === id ? { ...found, ...verdict } : found;
  const about = (ok: boolean | null, error: string | null = null) => ({ id, from, to, ok, error });
  const state = readState(binary);
  if (state?.id === id) {
    if (state.step === "ok") return about(true);
    if (isUnderWay(state, now)) return about(null);
    return about(false, state.error ?? interruption(binary, version, isUnderWay) ?? "interrupted");
  }
  if (order.ended !== null) return about(order.error === null, order.error);
  const ms = now - Date.parse(order.began);
  // In the future where the clock was set back; nobody takes such an order.
  const isAtWork = order.pid === null ? Math.abs(ms) <= START_MS : ms <= LONGEST_MS && isAlive(order.pid);
  return isAtWork ? about(null) : about(false, "its process has died before anything was replaced");
}

/**
 * Does what the order with this id says, where that is still the newest, and notes how it ended. Never throws.
 *
 * @param options without what the order says; what it throws ends the order.
 */
export async function carryOut(
  folder: string,
  id: string,
  options: () => Promise<Omit<UpgradeOptions, "id" | "allowDowngrade" | "announce">>,
): Promise<void> {
  const found = readOrder(folder);
  if (found?.id !== id || found.ended !== null) return;
  const order = { ...found, pid: process.pid };
  const file = join(folder, order.sha256);
  const signature = `${file}${SIGNATURE_EXTENSION}`;
  const work = async () => {
    // Whoever asks knows from here on whether it is at work.
    writeOrder(folder, order);
    // The server has put on record that it begins.
    const all = { ...(await options()), id, allowDowngrade: false, announce: async () => {} };
    await upgrade({ file, signature }, all);
  };
  const error = await errorOf(work());
  try {
    // First, since it makes room on a full disk.
    for (const path of [file, signature]) rmSync(path, { force: true });
    writeOrder(folder, { ...order, ended: new Date().toISOString(), error });
  } catch {
    // Once this process has ended, it is known from the state beside the program, or counts as dead.
  }
}

/** Why `work` failed; null where it did not. */
export const errorOf = (work: Promise<void>): Promise<string | null> =>
  work.then(
    () => null,
    (fault) => (failureOf(fault) ? messageOf(fault) : `it ended early (${messageOf(fault)})`),
  );
