/**
 * Taking over the plan of a desk that is gone, from its ledger.
 *
 * The promise: no host runs twice what it has run. The ids of the jobs stay, also where the ledger is an old copy that does not know
 * that they were sent; each host that takes jobs is asked about its own first, and has it once.
 */
import { accessSync, copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { badInput, conflict, Failure, messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { type Ledger, openLedger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";

/** The name of a copy of a ledger. */
export const COPY = /^adopt-[0-9a-f-]{36}$/;

/** The ledger in such a copy. */
const LEDGER = "plans.db";

/**
 * Copies a ledger, which stays as it is: opening one changes it.
 *
 * @param file the ledger of another desk, or a backup of it.
 * @param folder where the copy is made.
 * @returns the name of the copy there.
 * @throws `bad_input` for a file that cannot be read.
 */
export function copyLedger(file: string, folder: string): string {
  const name = `adopt-${crypto.randomUUID()}`;
  const place = join(folder, name);
  try {
    requireFile(file);
    mkdirSync(place, { recursive: true, mode: 0o700 });
    // What was not yet moved into the file itself is beside it (https://sqlite.org/wal.html).
    for (const end of ["", "-wal"])
      if (end === "" || existsSync(file + end)) copyFileSync(file + end, join(place, LEDGER + end));
    return name;
  } catch (error) {
    rmSync(place, { recursive: true, force: true });
    throw noLedger(file, error);
  }
}

/**
 * Takes over the plan `id`.
 *
 * @param file the ledger of the other desk, for messages.
 * @param copy the copy of it in `folder`, which is removed.
 * @param token the named token with whose rights the plan runs from now on; null for the owner.
 * @throws `bad_input` for a file that is no ledger; `not_found` for a plan that it has not; `conflict` for one that needs nobody, or
 *   that is here already.
 */
export function adoptPlan(
  own: Ledger,
  { file, copy, folder }: { readonly file: string; readonly copy: string; readonly folder: string },
  id: string,
  token: string | null,
): Plan {
  const place = join(folder, copy);
  let other: Ledger | undefined;
  try {
    requireFile(join(place, LEDGER));
    other = openLedger(join(place, LEDGER));
    const plan = other.find(id);
    const { state, applied, ended, spec } = plan;
    if (spec.kind !== "plan")
      throw conflict(`the plan ${plan.id} is a broadcast, which has ended with its desk`);
    if (applied === null) throw conflict(`the plan ${plan.id} was never applied: make it anew here`);
    if (ended !== null) throw conflict(`the plan ${plan.id} is ${state}, and over`);
    return own.adopt({ ...plan, maker: token, token }, other.content(plan.seq), other.targets(plan.seq));
  } catch (error) {
    if (error instanceof Failure && error.code !== "unavailable") throw error;
    throw noLedger(file, error);
  } finally {
    other?.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** A database that is not there would be made. @throws an error of the system. */
const requireFile = (path: string) => void accessSync(path);

const noLedger = (file: string, why: unknown) =>
  badInput(`ledger: ${printable(file, 200)} is not the ledger of a desk (plans.db): ${messageOf(why)}`);
