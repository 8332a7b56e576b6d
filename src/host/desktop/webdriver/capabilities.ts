/**
 * What a client asks of a new session (W3C WebDriver, section 7): the standard's own capabilities, and those of svc.
 */
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../../core/desktop-request";
import { COMMAND_LINE } from "../../../core/program";
import { isObject } from "../../../lib/is-object";
import { jsonLine } from "../../../lib/sanitize";
import { failing } from "../../../wire/webdriver/errors";

const TEXT = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000));
const MILLISECONDS = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(86_400_000));

/** The times of a session, in milliseconds. */
export const TIMEOUTS = {
  script: v.optional(v.nullable(MILLISECONDS)),
  pageLoad: v.optional(MILLISECONDS),
  implicit: v.optional(MILLISECONDS),
};

/** How long a session lasts without a command, in seconds. */
const IDLE_S = 300;

/** `svc:desktop` for the desktop of the host. */
export const CURRENT = "current";

const SVC = {
  /** A program to start. */
  "svc:app": v.optional(COMMAND_LINE),
  "svc:cwd": v.optional(TEXT),
  /** The label of a host in the address book. */
  "svc:host": v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200))),
  /** What acts on elements: the interface of their program, or pointer and keyboard. */
  "svc:input": v.optional(v.picklist(["program", "real"]), "program"),
  /** Seconds without a command until the session ends. */
  "svc:idleTimeout": v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(3_600)), IDLE_S),
  /** `current`, `new` for one that ends with the session, or the name of one that is kept; as an object also its size, scale and locale. */
  "svc:desktop": v.optional(DESKTOP_REQUEST),
};

const STANDARD = {
  acceptInsecureCerts: v.optional(v.boolean()),
  browserName: v.optional(v.string()),
  browserVersion: v.optional(v.string()),
  platformName: v.optional(v.string()),
  pageLoadStrategy: v.optional(v.string()),
  proxy: v.optional(v.looseObject({})),
  setWindowRect: v.optional(v.boolean()),
  strictFileInteractability: v.optional(v.boolean()),
  timeouts: v.optional(v.object(TIMEOUTS)),
  unhandledPromptBehavior: v.optional(v.unknown()),
  webSocketUrl: v.optional(v.boolean()),
};

/** Those of other makers are left to them (section 7.1: a name with a colon). */
const CAPABILITIES = v.looseObject({ ...STANDARD, ...SVC });
const OWN = new Set(Object.keys(CAPABILITIES.entries));

/** What a session is made with. */
export type Capabilities = v.InferOutput<typeof CAPABILITIES>;

/** How many capabilities may be asked for at once: each alternative is compared with all of them. */
const MOST = 200;

const SOME = v.custom<Readonly<Record<string, unknown>>>(
  (value) => isObject(value) && Object.keys(value).length <= MOST,
);

/** Looked at before what is in it: a request may have tens of thousands. */
const FEW = v.custom<unknown[]>((value) => Array.isArray(value) && value.length > 0 && value.length <= 16);

const GIVEN = v.object({
  capabilities: v.object({
    alwaysMatch: v.optional(SOME, {}),
    firstMatch: v.optional(v.pipe(FEW, v.array(SOME)), [{}]),
  }),
});

/** The name of this platform, as clients write it. */
const PLATFORMS: Readonly<Record<string, string>> = { linux: "linux", win32: "windows", darwin: "mac" };
export const PLATFORM = PLATFORMS[process.platform] ?? process.platform;

/**
 * The first of the alternatives that this host can be (section 7.2).
 *
 * @param isElsewhere whether another host is asked, whose platform is not known here.
 * @throws `invalid argument` for what is no capability; `session not created` where none fits.
 */
export function capabilitiesIn(body: unknown): Capabilities {
  const given = v.safeParse(GIVEN, body);
  if (!given.success)
    throw failing(
      "invalid argument",
      `capabilities: expected an object with alwaysMatch and firstMatch, each with at most ${MOST} capabilities`,
    );
  const { alwaysMatch, firstMatch } = given.output.capabilities;
  const reasons: string[] = [];
  for (const first of firstMatch) {
    const merged = parsed({ ...alwaysMatch, ...first });
    const reason = whyNot(merged);
    if (reason === undefined) return merged;
    reasons.push(reason);
  }
  throw failing("session not created", [...new Set(reasons)].join("; "));
}

function parsed(given: Readonly<Record<string, unknown>>): Capabilities {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const unknown = Object.keys(present).find(
    (name) => !OWN.has(name) && (!name.includes(":") || name.startsWith("svc:")),
  );
  if (unknown !== undefined)
    throw failing("invalid argument", `${jsonLine(unknown.slice(0, 100))} is no capability of svc`);
  const read = v.safeParse(CAPABILITIES, present, { abortEarly: true });
  if (read.success) return read.output;
  const [issue] = read.issues;
  const path = v.getDotPath(issue) ?? "capabilities";
  throw failing("invalid argument", `${path}: expected ${issue.expected ?? "another value"}`);
}

/** Why this host is not what is asked for; undefined where it is. */
function whyNot(capabilities: Capabilities): string | undefined {
  const { browserName = "", platformName, proxy } = capabilities;
  if (browserName !== "" && browserName.toLowerCase() !== "svc")
    return `browserName: expected "svc" or none, as svc drives programs of a desktop and no browser, but found ${jsonLine(browserName.slice(0, 100))}`;
  if (proxy !== undefined) return "proxy: svc sets none";
  if (capabilities["svc:host"] !== undefined || platformName === undefined) return undefined;
  if (["any", "", PLATFORM].includes(platformName.toLowerCase())) return undefined;
  return `platformName: this host is ${PLATFORM}, not ${jsonLine(platformName.slice(0, 100))}`;
}
