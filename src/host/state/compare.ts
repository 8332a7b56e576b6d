/**
 * How this host differs from what a state wants. Changes nothing.
 */
import { allows, type Grant, secretScope } from "../../core/rights";
import { nextSlice } from "../../lib/turn";
import { type Difference, MAX_TEXT } from "../../wire/state/messages";
import type { WantedState } from "../../wire/state/wanted";
import type { ManagedNames, StateEntry } from "./kept";
import type { StateParts } from "./parts";

interface Compares {
  readonly parts: StateParts;
  readonly wanted: WantedState;
  /** The state of that name here, where it is of who asks; undefined for none. */
  readonly own: StateEntry | undefined;
  readonly others: readonly StateEntry[];
  /** Of who asks: it learns of the secrets that it may use alone. */
  readonly grant: Grant;
}

/** The same with which of the other states manages what, by kind and name. */
interface Comparison extends Compares {
  readonly ownerOf: Readonly<Record<keyof ManagedNames, ReadonlyMap<string, string>>>;
}

/** The kinds of what a state manages. */
const KIND_OF = { scripts: "script", jobs: "job", settings: "setting" } as const;

/**
 * In the order of the file: scripts, jobs, settings, secrets, black box, version; what is there besides comes last, what an earlier file of the
 * name manages before the rest. In slices.
 *
 * @throws `bad_input` for what cannot be here.
 */
export async function differencesOf(given: Compares): Promise<Difference[]> {
  const { parts, wanted, others } = given;
  const compares: Comparison = { ...given, ownerOf: ownersOf(others, wanted.name) };
  return [
    ...(await scriptDifferences(compares)),
    ...(await jobDifferences(compares)),
    ...settingDifferences(compares),
    ...secretDifferences(compares),
    ...boxDifference(compares),
    ...(wanted.version === undefined || wanted.version === parts.version
      ? []
      : [byHand("version", "version", parts.version, wanted.version)]),
    ...besides(compares),
  ];
}

/** What a state of this host is called. @param asked the name of the one that is compared: another of that name is named with whose it is. */
export const ownerText = ({ name, by }: StateEntry, asked: string): string =>
  name === asked ? `${name} of ${by ? `the token ${by}` : "the owner of the host"}` : name;

function ownersOf(states: readonly StateEntry[], asked: string): Comparison["ownerOf"] {
  const of = (kind: keyof ManagedNames) =>
    new Map(states.flatMap((one) => one.managed[kind].map((name) => [name, ownerText(one, asked)] as const)));
  return { scripts: of("scripts"), jobs: of("jobs"), settings: of("settings") };
}

/**
 * What applying has to do about one thing, or the state that stands in its way; none where it is as it should be. What another state manages is
 * taken also where it is the same: either could remove it.
 */
function toApply(
  { ownerOf }: Comparison,
  kind: keyof ManagedNames,
  name: string,
  {
    isSame,
    found,
    wanted,
  }: { readonly isSame: boolean; readonly found: string | null; readonly wanted: string },
): Difference[] {
  const owner = ownerOf[kind].get(name);
  const about = { kind: KIND_OF[kind], name, drift: true, wanted };
  if (owner !== undefined) return [{ ...about, state: "taken", by: "hand", found: owner }];
  return isSame ? [] : [{ ...about, state: found === null ? "missing" : "differs", by: "apply", found }];
}

const byHand = (
  kind: Difference["kind"],
  name: string,
  found: string | null,
  wanted: string,
): Difference => ({
  kind,
  name,
  state: found === null ? "missing" : "differs",
  by: "hand",
  drift: true,
  found,
  wanted,
});

async function scriptDifferences(compares: Comparison): Promise<Difference[]> {
  const { parts, wanted } = compares;
  const digests = parts.scripts.digests();
  return inTurn(wanted.scripts, (name, script) => {
    const digest = parts.scripts.digestOf(name, script);
    const found = digests.get(name) ?? null;
    return toApply(compares, "scripts", name, { isSame: found === digest, found, wanted: digest });
  });
}

async function jobDifferences(compares: Comparison): Promise<Difference[]> {
  const { parts, wanted, grant } = compares;
  return inTurn(wanted.jobs, async (id, job) => {
    const fields = await parts.jobs.differing(id, job, grant);
    const found = fields?.join(", ") ?? null;
    return toApply(compares, "jobs", id, { isSame: found === "", found, wanted: "as the file says" });
  });
}

/** What `differencesIn` finds for each of the things, one after the other, in slices. */
async function inTurn<T>(
  things: Readonly<Record<string, T>>,
  differencesIn: (name: string, thing: T) => Difference[] | Promise<Difference[]>,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const [name, thing] of Object.entries(things)) {
    const waits = nextSlice();
    if (waits) await waits;
    differences.push(...(await differencesIn(name, thing)));
  }
  return differences;
}

function settingDifferences(compares: Comparison): Difference[] {
  const { parts, wanted } = compares;
  const values = new Map(parts.settings.list().map(({ name, value }) => [name, value]));
  return Object.entries(wanted.settings).flatMap(([name, value]) => {
    parts.settings.check(name, value);
    const found = values.get(name) ?? [];
    const isSame = new Set(found).symmetricDifference(new Set(value)).size === 0;
    return toApply(compares, "settings", name, { isSame, found: textOf(found), wanted: textOf(value) });
  });
}

const textOf = (value: readonly string[]) => cut(value.join(", ")) || "the default";

const cut = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

function secretDifferences({ parts, wanted, grant }: Compares): Difference[] {
  const there = new Set(parts.secrets());
  return wanted.secrets.flatMap((name) => {
    if (!allows(grant, secretScope(name))) return [unknownSecret(name)];
    return there.has(name) ? [] : [byHand("secret", name, null, "a value")];
  });
}

const unknownSecret = (name: string): Difference => ({
  kind: "secret",
  name,
  state: "unknown",
  by: "nothing",
  drift: false,
  found: null,
  wanted: "a value",
});

/**
 * A pause is made, and that of a state is ended; one of a person is theirs, and what the server was started without, nobody sets from afar. Two
 * states may want the same.
 */
function boxDifference({ parts, wanted: { name, black_box }, others }: Compares): Difference[] {
  if (black_box === undefined) return [];
  const { state: found, isPausedByState } = parts.blackBox;
  const wanted = black_box ? "on" : "off";
  const about = { kind: "black_box", name: "black_box", drift: true, wanted } as const;
  const other = others.find((one) => one.black_box === !black_box);
  if (other) return [{ ...about, state: "taken", by: "hand", found: ownerText(other, name) }];
  const isSame = black_box ? found === "on" : found !== "on";
  if (isSame) return [];
  return [{ ...about, state: "differs", by: black_box && !isPausedByState ? "hand" : "apply", found }];
}

/** What is here and not in the file: what an earlier one of the name manages is drift where the file prunes, and comes first. */
function besides({ parts, wanted, own, ownerOf }: Comparison): Difference[] {
  const there: Readonly<Record<keyof ManagedNames, readonly string[]>> = {
    scripts: [...parts.scripts.digests().keys()],
    jobs: parts.jobs.ids(),
    settings: parts.settings.list().flatMap(({ name, value }) => (value.length > 0 ? [name] : [])),
  };
  const all = (Object.keys(there) as Array<keyof ManagedNames>).flatMap((kind) => {
    const isOwn = new Set(own?.managed[kind]).difference(ownerOf[kind]);
    return there[kind]
      .filter((name) => !Object.hasOwn(wanted[kind], name))
      .map(
        (name): Difference => ({
          kind: KIND_OF[kind],
          name,
          state: "besides",
          by: isOwn.has(name) ? "prune" : "nothing",
          drift: isOwn.has(name) && wanted.prune,
          wanted: null,
          found: isOwn.has(name) ? wanted.name : (ownerOf[kind].get(name) ?? null),
        }),
      );
  });
  return all.toSorted((a, b) => Number(b.by === "prune") - Number(a.by === "prune"));
}
