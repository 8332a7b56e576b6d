/**
 * How this host differs from what a state wants. Changes nothing.
 */
import { allows, type Grant, secretScope } from "../../core/rights";
import type { Difference } from "../../wire/state/messages";
import type { Wanted } from "../../wire/state/wanted";
import type { KeptState, Managed } from "./kept";
import type { StateParts } from "./parts";

/** The most differences of a host that are listed of what it has besides. */
const MAX_BESIDES = 500;

/** What is compared. */
interface Compares {
  readonly parts: StateParts;
  readonly wanted: Wanted;
  /** The states of this host. */
  readonly kept: readonly KeptState[];
  /** Of who asks: it learns of the secrets that it may use alone. */
  readonly grant: Grant;
}

/** The kinds of what a state manages. */
const KIND_OF = { scripts: "script", jobs: "job", settings: "setting" } as const;

/** In the order of the file: scripts, jobs, settings, secrets, black box, version; what is there besides comes last. @throws `bad_input` for what cannot be here. */
export async function differencesOf(compares: Compares): Promise<Difference[]> {
  const { parts, wanted } = compares;
  return [
    ...scriptDifferences(compares),
    ...(await jobDifferences(compares)),
    ...settingDifferences(compares),
    ...secretDifferences(compares),
    ...boxDifference(compares),
    ...(wanted.version === undefined || wanted.version === parts.version
      ? []
      : [byHand("version", "version", parts.version, wanted.version)]),
    ...(await besides(compares)),
  ];
}

/** The name of another state that manages it; undefined for none. */
function ownerOf({ kept, wanted }: Compares, kind: keyof Managed, name: string): string | undefined {
  return kept.find((one) => one.name !== wanted.name && one.managed[kind].includes(name))?.name;
}

/**
 * What applying has to do about one thing, or the state that stands in its way; none where it is as it should be. What another state manages is
 * taken also where it is the same: either could remove it.
 */
function toApply(
  compares: Compares,
  kind: keyof Managed,
  name: string,
  {
    isSame,
    found,
    wanted,
  }: { readonly isSame: boolean; readonly found: string | null; readonly wanted: string },
): Difference[] {
  const owner = ownerOf(compares, kind, name);
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
  ...{ kind, name, state: found === null ? "missing" : "differs", by: "hand", drift: true, found, wanted },
});

function scriptDifferences(compares: Compares): Difference[] {
  const { parts, wanted } = compares;
  const digests = parts.scripts.digests();
  return Object.entries(wanted.scripts).flatMap(([name, script]) => {
    const digest = parts.scripts.digestOf(name, script);
    const found = digests.get(name) ?? null;
    return toApply(compares, "scripts", name, { isSame: found === digest, found, wanted: digest });
  });
}

async function jobDifferences(compares: Compares): Promise<Difference[]> {
  const { parts, wanted, grant } = compares;
  const differences: Difference[] = [];
  for (const [id, job] of Object.entries(wanted.jobs)) {
    const fields = await parts.jobs.differing(id, job, grant);
    const found = fields?.join(", ") ?? null;
    const about = { isSame: found === "", found, wanted: "as the file says" };
    differences.push(...toApply(compares, "jobs", id, about));
  }
  return differences;
}

function settingDifferences(compares: Compares): Difference[] {
  const { parts, wanted } = compares;
  const values = new Map(parts.settings.list().map(({ name, value }) => [name, value]));
  return Object.entries(wanted.settings).flatMap(([name, value]) => {
    parts.settings.check(name, value);
    const found = values.get(name) ?? [];
    const isSame = new Set(found).symmetricDifference(new Set(value)).size === 0;
    return toApply(compares, "settings", name, { isSame, found: textOf(found), wanted: textOf(value) });
  });
}

const textOf = (value: readonly string[]) => value.join(", ") || "the default";

function secretDifferences({ parts, wanted, grant }: Compares): Difference[] {
  const there = new Set(parts.secrets());
  return wanted.secrets.flatMap((name) => {
    if (!allows(grant, secretScope(name))) return [unknownSecret(name)];
    return there.has(name) ? [] : [byHand("secret", name, null, "a value")];
  });
}

const unknownSecret = (name: string): Difference => ({
  ...{ kind: "secret", name, state: "unknown", by: "nothing", drift: false },
  ...{ found: null, wanted: "a value" },
});

function boxDifference({ parts, wanted: { black_box } }: Compares): Difference[] {
  const { blackBox: found } = parts;
  const isSame = black_box === undefined || (black_box ? found === "on" : found === "off");
  return isSame ? [] : [byHand("black_box", "black_box", found, black_box ? "on" : "off")];
}

/** What is here and not in the file: what an earlier one of the name manages is drift where the file prunes. */
async function besides({ parts, wanted, kept }: Compares): Promise<Difference[]> {
  const own = kept.find(({ name }) => name === wanted.name)?.managed;
  const there: Readonly<Record<keyof Managed, readonly string[]>> = {
    scripts: [...parts.scripts.digests().keys()],
    jobs: await parts.jobs.ids(),
    settings: parts.settings.list().flatMap(({ name, value }) => (value.length > 0 ? [name] : [])),
  };
  const all = (Object.keys(there) as Array<keyof Managed>).flatMap((kind) =>
    there[kind]
      .filter((name) => !Object.hasOwn(wanted[kind], name))
      .map((name): Difference => {
        const isOwn = own?.[kind].includes(name) === true;
        const owner = kept.find((one) => one.managed[kind].includes(name))?.name;
        return {
          ...{ kind: KIND_OF[kind], name, state: "besides", by: isOwn ? "prune" : "nothing" },
          ...{ drift: isOwn && wanted.prune, found: owner ?? null, wanted: null },
        };
      }),
  );
  // What is to be removed comes first.
  return all.toSorted((a, b) => Number(b.by === "prune") - Number(a.by === "prune")).slice(0, MAX_BESIDES);
}
