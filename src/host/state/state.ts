/**
 * The state of this host: comparing it with what a desk wants, and making it so.
 *
 * Promises. What cannot be is refused before anything is changed. Only what differs is changed, on record with names and digests. What another
 * state manages stays as it is, and so does what no state manages and this one does not name.
 */
import type { Caller } from "../../core/caller";
import { allows, beyond, type Grant, requireOwnToken } from "../../core/rights";
import { badInput, conflict, forbidden } from "../../lib/errors";
import { createQueue } from "../../lib/queue";
import { printable } from "../../lib/sanitize";
import type { Applied, Changed, Compared, Difference } from "../../wire/state/messages";
import { readWanted, type Wanted } from "../../wire/state/wanted";
import { differencesOf } from "./compare";
import type { KeptState, KeptStates, Managed } from "./kept";
import type { StateParts } from "./parts";

/** The state of this host. */
export interface HostState {
  /** @throws `bad_input` for what is no state, or cannot be here. */
  compare(state: string, grant: Grant): Promise<Compared>;
  /** Compares with what was applied last under that name. @param sha256 of what should have been. */
  drift(name: string, sha256: string, grant: Grant): Promise<Compared>;
  /**
   * Makes it so. One after the other.
   *
   * @throws `bad_input` as `compare`, and where `name` and `sha256` are not those of the state; `forbidden` where the caller may not change a
   *   part; `conflict` where another state manages something of it. Nothing has changed then.
   */
  apply(
    sent: { readonly name: string; readonly sha256: string; readonly state: string },
    caller: Caller,
  ): Promise<Applied>;
}

/** @param now the time, ISO 8601. */
export function createHostState(
  parts: () => Promise<StateParts>,
  kept: KeptStates,
  now: () => string,
): HostState {
  const inTurn = createQueue();

  const compared = async (wanted: Wanted, grant: Grant): Promise<Compared> => {
    const all = kept.all();
    const differences = await differencesOf({ parts: await parts(), wanted, kept: all, grant });
    const own = all.find(({ name }) => name === wanted.name);
    const drift = differences.some((one) => one.drift);
    return { name: wanted.name, drift, differences, applied: appliedOf(own) };
  };

  const applyNow = async (
    state: string,
    wanted: Wanted,
    sha256: string,
    caller: Caller,
  ): Promise<Applied> => {
    const { name } = wanted;
    const own = await parts();
    const before = kept.find(name);
    requireRights(wanted, before?.managed, caller.grant);
    const differences = await differencesOf({
      parts: own,
      wanted,
      kept: kept.all(),
      grant: caller.grant,
    });
    const [taken] = differences.filter((one) => one.state === "taken");
    if (taken)
      throw conflict(
        `the ${taken.kind} ${printable(taken.name, 100)} is managed by the state ${taken.found}: one file alone can have it`,
      );
    const todo = differences.filter(({ by }) => by === "apply" || (by === "prune" && wanted.prune));
    for (const script of Object.values(wanted.scripts)) await own.scripts.check(script);
    for (const words of rowsOf(todo))
      await caller.announce(`state.apply name=${name} sha256:${sha256} ${words}`);
    const managed = managedBy(wanted, wanted.prune ? undefined : before?.managed);
    const entry = { name, sha256, state };
    // What is about to be added is its own from now on, and what is about to be removed still is.
    kept.put({ ...entry, applied: null, managed: managedBy(wanted, before?.managed) });
    const changed: Changed[] = [];
    for (const one of inOrder(todo)) changed.push(await makeSo(own, wanted, one, caller));
    kept.put({ ...entry, applied: now(), managed });
    return { changed, left: differences.filter((one) => one.drift && !todo.includes(one)) };
  };

  return {
    compare: async (state, grant) => compared(readWanted(state).wanted, grant),
    async drift(name, sha256, grant) {
      const found = kept.find(name);
      const applied = appliedOf(found);
      if (found && applied && found.sha256 === sha256) return compared(readWanted(found.state).wanted, grant);
      const difference: Difference = {
        ...{ kind: "state", name, state: applied ? "differs" : "missing", by: "apply", drift: true },
        ...{ found: found?.sha256 ?? null, wanted: sha256 },
      };
      return { name, drift: true, differences: [difference], applied };
    },
    async apply({ name, sha256, state }, caller) {
      const sent = readWanted(state);
      if (sent.sha256 !== sha256 || sent.wanted.name !== name)
        throw badInput("state: it is not what name and sha256 say");
      return inTurn(() => applyNow(state, sent.wanted, sha256, caller));
    },
  };
}

const appliedOf = (found: KeptState | undefined): Compared["applied"] =>
  found && found.applied !== null ? { sha256: found.sha256, at: found.applied } : null;

/** What a state manages with what it managed before. */
function managedBy(wanted: Wanted, before: Managed = { scripts: [], jobs: [], settings: [] }): Managed {
  const all = (kind: keyof Managed) => [...new Set([...before[kind], ...Object.keys(wanted[kind])])];
  return { scripts: all("scripts"), jobs: all("jobs"), settings: all("settings") };
}

/**
 * Each part needs what it needs by itself: `scripts.add` and `config.set` are `admin`, and a job is of the token that adds it. Also where nothing
 * of it is to be changed: a state manages what it has.
 */
function requireRights(wanted: Wanted, before: Managed | undefined, grant: Grant): void {
  requireOwnToken(grant, "a state");
  const { scripts, settings } = managedBy(wanted, before);
  const [script] = scripts;
  const [setting] = settings;
  const what = script === undefined ? `the setting ${setting}` : `the script ${script}`;
  if ((script ?? setting) !== undefined && !allows(grant, "admin"))
    throw forbidden(beyond(grant, `${printable(what, 120)} of the state ${wanted.name} needs admin`));
}

/** How many changes a row of the audit log has. */
const IN_A_ROW = 50;

/** The changes, row by row; one row where there are none. */
function rowsOf(todo: readonly Difference[]): string[] {
  if (todo.length === 0) return ["changes nothing"];
  const count = Math.ceil(todo.length / IN_A_ROW);
  return Array.from({ length: count }, (_, nth) =>
    todo
      .slice(nth * IN_A_ROW, (nth + 1) * IN_A_ROW)
      .map(wordsOf)
      .join("; "),
  );
}

/** A difference in an audit row: names and digests. */
const wordsOf = ({ kind, name, state, found, wanted }: Difference): string => {
  const sign = state === "missing" ? "+" : state === "besides" ? "-" : "~";
  const digests = kind === "script" ? ` ${[found, wanted].filter(Boolean).join(" -> ")}` : "";
  const fields = kind === "script" || state !== "differs" ? "" : ` (${found})`;
  return `${sign} ${kind} ${printable(name, 100)}${digests}${fields}`;
};

/** Jobs go before the scripts that they run, and come after them. */
function inOrder(todo: readonly Difference[]): Difference[] {
  const orderOf = ({ kind, state }: Difference) =>
    state === "besides" ? (kind === "job" ? 0 : 3) : kind === "job" ? 2 : 1;
  return todo.toSorted((a, b) => orderOf(a) - orderOf(b));
}

async function makeSo(
  { scripts, jobs, settings }: StateParts,
  wanted: Wanted,
  { kind, name, state, found, wanted: next }: Difference,
  caller: Caller,
): Promise<Changed> {
  const isRemoved = state === "besides";
  const script = isRemoved ? undefined : wanted.scripts[name];
  const job = isRemoved ? undefined : wanted.jobs[name];
  if (kind === "script") await (script ? scripts.store(name, script, caller) : scripts.remove(name));
  else if (kind === "job") await (job ? jobs.put(name, job, caller.grant) : jobs.remove(name));
  else await settings.set(name, isRemoved ? [] : (wanted.settings[name] ?? []));
  const change = isRemoved ? "removed" : state === "missing" ? "added" : "changed";
  return { kind: kind as Changed["kind"], name, change, found: isRemoved ? null : found, wanted: next };
}
