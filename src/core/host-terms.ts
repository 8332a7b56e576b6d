/**
 * What a word of a query tests of a host: its state, or `name:value`.
 */
import { namePattern } from "./name-pattern";

/** What is known of a host that is looked for. */
export interface FoundHost {
  readonly label: string;
  readonly tags: readonly string[];
  /** `busy`: it answers that it is asked too much. `unknown`: nobody has asked it yet, and it has not dialled. */
  readonly state: "up" | "down" | "busy" | "unknown";
  /** Why it is down or busy; null where it is not. */
  readonly why: string | null;
  /** When it was there last, ISO 8601; null where that is not known. */
  readonly seen: string | null;
  /** The version of svc there; null where that is not known. */
  readonly version: string | null;
  /** The plan that it works on; null where it works on none. */
  readonly plan: string | null;
  /** How it is reached: `link`, `nats`, `https` or `http`. */
  readonly way: string;
  /** What makes sure that it is the host which answers. */
  readonly trust: string;
  /** Whether its audit log is not what its witnesses have seen before. */
  readonly broken: boolean;
  /** Whether two machines have its identity. */
  readonly twin: boolean;
}

/** Whether a host is one of those. `now` is in milliseconds since 1970. */
export type Test = (host: FoundHost, now: number) => boolean;

/** What a term tests, or what is wrong with it. */
type TermReading = { readonly test: Test } | { readonly fault: string };

/** How long a host that does not answer counts as lost, in milliseconds: then it is off. */
const LOST_MS = 86_400_000;

/** What it means of a host that it is down. */
type DownKind = "failing" | "lost" | "off";

/**
 * What it means of a host that it is down: it answers, but not as it should; it does not, and was there within a day; or it was there
 * before that, or never. `now` is in milliseconds since 1970.
 */
export function downKind({ why, seen }: Pick<FoundHost, "why" | "seen">, now: number): DownKind {
  if (why?.startsWith("HTTP ")) return "failing";
  return seen !== null && now - Date.parse(seen) < LOST_MS ? "lost" : "off";
}

function isDown(kind: DownKind): Test {
  return (host, now) => host.state === "down" && downKind(host, now) === kind;
}

/** The states: words of their own. A host with such a label is found by `label:`. */
const STATES: Readonly<Record<string, Test>> = {
  all: () => true,
  up: ({ state }) => state === "up",
  down: ({ state }) => state === "down",
  failing: isDown("failing"),
  lost: isDown("lost"),
  off: isDown("off"),
  busy: ({ state }) => state === "busy",
  unknown: ({ state }) => state === "unknown",
  healthy: ({ state, broken, twin }) => state === "up" && !broken && !twin,
  running: ({ plan }) => plan !== null,
  idle: ({ state, plan }) => state === "up" && plan === null,
  broken: ({ broken }) => broken,
  twin: ({ twin }) => twin,
};

/** The words for states, to be offered while a query is typed. */
export const STATE_WORDS: readonly string[] = Object.keys(STATES);

/** How hosts are reached, and what vouches for them: what `way` and `trust` of a {@link FoundHost} may be. */
const WAYS = ["link", "nats", "https", "http"];
export const TRUSTS: readonly string[] = [
  ...["key", "certificate", "ca", "authorities", "identity", "server", "loopback", "nothing"],
];

/** What may stand before a colon, and what follows it, to be offered while a query is typed. */
export const PROPERTY_WORDS: Readonly<Record<string, string>> = {
  tag: "a tag",
  label: "a label",
  version: "a version, also <0.3 or >=0.2.1",
  seen: "<5m or >1d: how long ago it was there last",
  way: WAYS.join(", ").replace(/, (?=[^,]*$)/, " or "),
  trust: TRUSTS.join(", ").replace(/, (?=[^,]*$)/, " or "),
  why: "a part of why it is down",
};

const PROPERTIES: Readonly<Record<string, (value: string) => TermReading>> = {
  tag: (value) => {
    const like = namePattern(value);
    return { test: ({ tags }) => tags.includes(value) || (like !== undefined && tags.some(like)) };
  },
  label: (value) => {
    const like = namePattern(value);
    return { test: ({ label }) => label === value || (like?.(label) ?? false) };
  },
  version: versionTest,
  seen: seenTest,
  way: (value) => (WAYS.includes(value) ? { test: ({ way }) => way === value } : unfit("way", value)),
  trust: (value) =>
    TRUSTS.includes(value) ? { test: ({ trust }) => trust === value } : unfit("trust", value),
  why: (value) => {
    const part = value.toLowerCase();
    return { test: ({ why }) => why?.toLowerCase().includes(part) ?? false };
  },
};

/** A state or a property; undefined for what can be a label alone. */
export function readTerm(text: string): TermReading | undefined {
  const state = Object.hasOwn(STATES, text) ? STATES[text] : undefined;
  if (state) return { test: state };
  const [, name = "", value = ""] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  if (name === "") return undefined;
  const property = Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name] : undefined;
  if (property)
    return value === "" ? { fault: `${name}: expected ${PROPERTY_WORDS[name]} after it` } : property(value);
  // A label may have a colon; a comparison is a property that was mistyped.
  if (!/^[<>=]/.test(value)) return undefined;
  return { fault: `${name}: expected ${Object.keys(PROPERTIES).join(", ")} before the colon` };
}

/** What stands before the colon of a term that is taken for a label, and may have been meant as a property; undefined for another. */
export const strangeName = (text: string): string | undefined => /^([a-z]+):./s.exec(text)?.[1];

const unfit = (name: string, value: string): TermReading => ({
  fault: `${name}: expected ${PROPERTY_WORDS[name]} but found ${JSON.stringify(value.slice(0, 64))}`,
});

const COMPARES: Readonly<Record<string, (difference: number) => boolean>> = {
  "<": (difference) => difference < 0,
  "<=": (difference) => difference <= 0,
  ">": (difference) => difference > 0,
  ">=": (difference) => difference >= 0,
  "=": (difference) => difference === 0,
};

/** How a comparison begins. */
const comparisonIn = (value: string) => /^(<=|>=|<|>|=)?(.*)$/s.exec(value) ?? [];

const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[\w.-]{1,40})?(?:\+[\w.-]{1,40})?$/;

interface VersionParts {
  /** As far as they are written. */
  readonly numbers: readonly number[];
  /** What stands before its release. */
  readonly before: string | undefined;
}

function versionIn(text: string): VersionParts | undefined {
  const [whole, major, minor, patch, before] = VERSION.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return {
    numbers: [major, minor, patch].flatMap((one) => (one === undefined ? [] : [Number(one)])),
    before,
  };
}

/** As many numbers are compared as were typed: 0.3.2 is a 0.3, and no later one. */
function versionTest(value: string): TermReading {
  const [, sign = "=", text = ""] = comparisonIn(value);
  const wanted = versionIn(text);
  if (!wanted) return unfit("version", value);
  const fits = COMPARES[sign] ?? (() => false);
  return {
    test({ version }) {
      const found = version === null ? undefined : versionIn(version);
      return found !== undefined && fits(versionOrder(found, wanted));
    },
  };
}

function versionOrder(one: VersionParts, wanted: VersionParts): number {
  for (const [at, number] of wanted.numbers.entries()) {
    const difference = (one.numbers[at] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  // 0.3 is any 0.3.x; the whole 0.3.0 comes after its candidates (semver.org, 11.3).
  if (wanted.numbers.length < 3 || one.before === wanted.before) return 0;
  if (one.before === undefined || wanted.before === undefined) return one.before === undefined ? 1 : -1;
  return one.before < wanted.before ? -1 : 1;
}

/** Milliseconds of a unit of time. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

function seenTest(value: string): TermReading {
  const [, sign, text = ""] = comparisonIn(value);
  const [, amount, unit = ""] = /^(\d{1,6}(?:\.\d{1,6})?)([smhdw])$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (sign === undefined || sign === "=" || Number.isNaN(ms)) return unfit("seen", value);
  const fits = COMPARES[sign] ?? (() => false);
  return {
    // A host that was never there was there longer ago than any time.
    test: ({ seen }, now) => fits((seen === null ? Number.POSITIVE_INFINITY : now - Date.parse(seen)) - ms),
  };
}
