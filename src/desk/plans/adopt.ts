/**
 * Taking over the plan of a desk that is gone, from its ledger.
 *
 * The promise: no host runs twice what it has run. The ids of the jobs stay, also where the ledger is an old copy that does not know
 * that they were sent; each host that takes jobs is asked about its own first, and has it once.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { badInput, conflict, Failure, messageOf } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { type Ledger, openLedger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";

/**
 * Takes over the plan `id`.
 *
 * @param file a copy of the ledger of the other desk. It is not changed.
 * @param folder where a copy of it may be for a moment.
 * @param token the named token with whose rights the plan runs from now on; null for the owner.
 * @throws `bad_input` for a file that is no ledger; `not_found` for a plan that it has not; `conflict` for one that needs nobody, or
 *   that is here already.
 */
export function adoptPlan(own: Ledger, file: string, id: string, token: string | null, folder: string): Plan {
  const place = join(folder, `adopt-${crypto.randomUUID()}`);
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const copy = join(place, basename(file));
  let other: Ledger | undefined;
  try {
    // What was not yet moved into the file itself is beside it (https://sqlite.org/wal.html).
    for (const end of ["", "-wal"])
      if (end === "" || existsSync(file + end)) copyFileSync(file + end, copy + end);
    other = openLedger(copy);
    const plan = other.find(id);
    const { state, applied, ended, spec } = plan;
    if (spec.kind !== "plan")
      throw conflict(`the plan ${plan.id} is a broadcast, which has ended with its desk`);
    if (applied === null) throw conflict(`the plan ${plan.id} was never applied: make it anew here`);
    if (ended !== null) throw conflict(`the plan ${plan.id} is ${state}, and over`);
    return own.adopt({ ...plan, maker: token, token }, other.content(plan.seq), other.targets(plan.seq));
  } catch (error) {
    if (error instanceof Failure && error.code !== "unavailable") throw error;
    throw badInput(
      `ledger: ${printable(file, 200)} is not the ledger of a desk (plans.db): ${messageOf(error)}`,
    );
  } finally {
    other?.close();
    rmSync(place, { recursive: true, force: true });
  }
}
