/**
 * The state of this host: comparing it with what a desk wants, and making it so.
 *
 * Promises. What cannot be is refused before anything is changed. Only what differs is changed, on record with names and digests. What another
 * state manages stays as it is, and so does what no state manages and this one does not name. A state is of the token that applied it: another
 * token cannot apply one of its name, as long as that one is there and nobody forgets the state.
 */
import type { Caller } from "../../core/caller";
import { allows, beyond, type Grant, holderOf, isSameHolder, requireOwnToken } from "../../core/rights";
import { badInput, conflict, forbidden } from "../../lib/errors";
import { createQueue } from "../../lib/queue";
import { printable } from "../../lib/sanitize";
import type { ApplyResult, Difference, StateChange, StateComparison } from "../../wire/state/messages";
import { readWanted, type WantedState } from "../../wire/state/wanted";
import { differencesOf, ownerText } from "./compare";
import type { KeptStates, ManagedNames, StateEntry } from "./kept";
import type { Change, StateParts } from "./parts";

/** The most things of a host that are listed and that no state of the name manages. */
const MAX_BESIDES = 500;

/** The most differences in an answer about drift, which says how many there are. */
const MAX_DRIFT = 200;

/** The state of this host. */
export interface HostState {
  /** @throws `bad_input` for what is no state, or cannot be here. */
  compare(state: string, grant: Grant): Promise<StateComparison>;
  /** Compares with what was applied last under that name; lists what is drift alone. @param sha256 of what should have been. */
  drift(name: string, sha256: string, grant: Grant): Promise<StateComparison>;
  /**
   * Makes it so. One after the other.
   *
   * @throws `bad_input` as `compare`, and where `name` and `sha256` are not those of the state; `forbidden` where the caller may not change a
   *   part; `conflict` where another state manages something of it, the state is of another token, or there would be too many things. Nothing
   *   has changed then.
   */
  apply(
    sent: { readonly name: string; readonly sha256: string; readonly state: string },
    caller: Caller,
  ): Promise<ApplyResult>;
  /** The states of this host, by name. */
  list(): Promise<StateEntry[]>;
  /** Forgets one: what it manages stays, and nothing manages it. @throws `not_found`. */
  forget(name: string): Promise<void>;
}

/** @param now the time, ISO 8601. */
export function createHostState(
  parts: () => Promise<StateParts>,
  kept: KeptStates,
  now: () => string,
): HostState {
  const inTurn = createQueue();

  /** The states here for who asks about one of that name: their own, the others, and one of that name that is of somebody else. */
  const statesFor = async (name: string, grant: Grant, { isGone }: StateParts) => {
    const all = await kept.all();
    const found = all.find((one) => one.name === name);
    const isOwn = found && isOf(grant, found, isGone);
    const own = isOwn ? found : undefined;
    return { own, others: all.filter((one) => one !== own), foreign: isOwn ? undefined : found };
  };

  const applyNow = async (
    sent: { readonly name: string; readonly sha256: string; readonly state: string },
    wanted: WantedState,
    caller: Caller,
  ): Promise<ApplyResult> => {
    const { name } = wanted;
    const { grant } = caller;
    const here = await parts();
    const { own, others, foreign } = await statesFor(name, grant, here);
    requireRights(wanted, own?.managed, grant);
    if (foreign)
      throw conflict(
        `the state ${ownerText(foreign, name)} is here: one token alone applies it, until \`svc states forget ${name}\` on this host`,
      );
    const by = holderOf(grant.name);
    await kept.requireRoom(name, by);
    const differences = await differencesOf({ parts: here, wanted, own, others, grant });
    const [taken] = differences.filter((one) => one.state === "taken");
    if (taken) throw conflict(takenText(taken));
    const todo = differences.filter((one) => one.by === "apply" || (one.by === "prune" && wanted.prune));
    const scripts = await here.scripts.prepare(changeOf(wanted.scripts, "script", todo), caller);
    const changeJobs = await here.jobs.prepare(changeOf(wanted.jobs, "job", todo), grant);
    for (const words of rowsOf(todo))
      await caller.announce(`state.apply name=${name} sha256:${sent.sha256} ${words}`);
    const earlier = differences.filter((one) => one.by === "prune");
    const { black_box } = wanted;
    const entry = { ...sent, by, ...(black_box !== undefined && { black_box }) };
    // What is about to be added is its own from now on, and what is about to be removed still is.
    await kept.put({ ...entry, applied: null, managed: managedBy(wanted, earlier) });
    // Jobs come after the scripts that they run, and go before them.
    await scripts.store();
    for (const one of todo.filter(({ kind }) => kind === "setting"))
      await here.settings.set(one.name, one.state === "besides" ? [] : (wanted.settings[one.name] ?? []));
    // Also where it is paused: that may not be written down yet.
    const isBoxOff = black_box === false && here.blackBox.state !== "off";
    if (isBoxOff || todo.some(({ kind }) => kind === "black_box"))
      await here.blackBox.set(black_box === true, grant.name, name);
    await changeJobs();
    await scripts.remove();
    await kept.put({ ...entry, applied: now(), managed: managedBy(wanted, wanted.prune ? [] : earlier) });
    const done = new Set(todo);
    return { changed: todo.map(changedOf), left: differences.filter((one) => one.drift && !done.has(one)) };
  };

  return {
    async compare(state, grant) {
      const { wanted } = readWanted(state);
      const { name } = wanted;
      const here = await parts();
      const { own, others, foreign } = await statesFor(name, grant, here);
      const found = await differencesOf({ parts: here, wanted, own, others, grant });
      const differences = [...(foreign ? [takenState(foreign)] : []), ...listed(found)];
      return {
        name,
        drift: found.some((one) => one.drift) || !!foreign,
        differences,
        applied: appliedOf(own),
      };
    },
    async drift(name, sha256, grant) {
      const found = kept.find(name);
      const applied = appliedOf(found);
      if (!found || !applied || found.sha256 !== sha256) {
        const difference: Difference = {
          ...{ kind: "state", name, state: applied ? "differs" : "missing", by: "apply", drift: true },
          ...{ found: found?.sha256 ?? null, wanted: sha256 },
        };
        return { name, drift: true, differences: [difference], applied };
      }
      // Whose it is does not matter here: it is compared with what it says itself.
      const { wanted } = readWanted(found.state);
      const others = (await kept.all()).filter((one) => one.name !== name);
      const all = await differencesOf({ parts: await parts(), wanted, own: found, others, grant });
      const drift = all.filter((one) => one.drift);
      const differences = drift.slice(0, MAX_DRIFT);
      return { name, drift: drift.length > 0, differences, applied, count: drift.length };
    },
    async apply(sent, caller) {
      const { sha256, wanted } = readWanted(sent.state);
      if (sent.sha256 !== sha256 || sent.name !== wanted.name)
        throw badInput("state: it is not what name and sha256 say");
      return inTurn(() => applyNow(sent, wanted, caller));
    },
    list: kept.all,
    forget: (name) => inTurn(async () => kept.forget(name)),
  };
}

/** Whether a state is of who asks. That of a token which is no more here is of whoever asks first. */
const isOf = (grant: Grant, { by }: StateEntry, isGone: (token: string) => boolean): boolean =>
  by === undefined || isSameHolder(by, grant.name) || (by !== null && isGone(by));

const takenState = (found: StateEntry): Difference => ({
  ...{ kind: "state", name: found.name, state: "taken", by: "hand", drift: true },
  ...{ found: ownerText(found, found.name), wanted: null },
});

/** Differences as they are listed: not all that is there besides, but all that is to be removed. */
function listed(differences: readonly Difference[]): Difference[] {
  let others = 0;
  return differences.filter(
    ({ state, by }) => state !== "besides" || by === "prune" || ++others <= MAX_BESIDES,
  );
}

const appliedOf = (found: StateEntry | undefined): StateComparison["applied"] =>
  found && found.applied !== null ? { sha256: found.sha256, at: found.applied } : null;

/** What a state manages: what it wants, and what is here of before. */
function managedBy(wanted: WantedState, earlier: readonly Difference[]): ManagedNames {
  const all = (kind: Difference["kind"], names: Readonly<Record<string, unknown>>) => [
    ...Object.keys(names),
    ...earlier.flatMap((one) => (one.kind === kind ? [one.name] : [])),
  ];
  return {
    scripts: all("script", wanted.scripts),
    jobs: all("job", wanted.jobs),
    settings: all("setting", wanted.settings),
  };
}

/**
 * Each part needs what it needs by itself: `scripts.add` and `config.set` are `admin`, and a job is of the token that adds it. Also where nothing
 * of it is to be changed: a state manages what it has.
 */
function requireRights(wanted: WantedState, before: ManagedNames | undefined, grant: Grant): void {
  requireOwnToken(grant, "a state");
  const [script] = [...(before?.scripts ?? []), ...Object.keys(wanted.scripts)];
  const [setting] = [...(before?.settings ?? []), ...Object.keys(wanted.settings)];
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

/** What a difference is about, in words. */
const whatOf = ({ kind, name }: Difference): string =>
  kind === "black_box" ? "black box" : `${kind} ${printable(name, 100)}`;

/** Why nothing is applied where another state stands in the way. About the black box, two may want the same. */
const takenText = (taken: Difference): string =>
  taken.kind === "black_box"
    ? `the state ${taken.found} wants the black box ${taken.wanted === "on" ? "off" : "on"}: take black_box out of one of the two files, and apply that one first`
    : `the ${whatOf(taken)} is managed by the state ${taken.found}: one file alone can have it`;

/** A difference in an audit row: names and digests. */
const wordsOf = (difference: Difference): string => {
  const { kind, state, found, wanted } = difference;
  const sign = state === "missing" ? "+" : state === "besides" ? "-" : "~";
  const isScript = kind === "script" && state !== "besides";
  const digests = isScript ? ` ${[found, wanted].filter(Boolean).join(" -> ")}` : "";
  const fields = kind === "script" || state !== "differs" ? "" : ` (${found})`;
  return `${sign} ${whatOf(difference)}${digests}${fields}`;
};

/** What is to become of the things of a kind. */
function changeOf<T>(
  wanted: Readonly<Record<string, T>>,
  kind: Difference["kind"],
  todo: readonly Difference[],
): Change<T> {
  const [remove = [], put = []] = [true, false].map((isRemoved) =>
    todo.flatMap((one) => (one.kind === kind && (one.state === "besides") === isRemoved ? [one.name] : [])),
  );
  return { wanted, put, remove };
}

function changedOf({ kind, name, state, found, wanted }: Difference): StateChange {
  const isRemoved = state === "besides";
  const change = isRemoved ? "removed" : state === "missing" ? "added" : "changed";
  return { kind: kind as StateChange["kind"], name, change, found: isRemoved ? null : found, wanted };
}
