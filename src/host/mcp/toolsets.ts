/**
 * Which operations agents are offered, in named sets.
 *
 * The promise: what is not in a set is offered to nobody, so a new operation is not until somebody decides so. None of them needs
 * `admin`: tokens, join strings, keys, the configuration, programs, and the end of the audit log are not among them.
 */
import { isReadOnly, type Operation } from "../../core/operation";
import { badInput } from "../../lib/errors";
import { meant } from "../../lib/nearest";
import { printable } from "../../lib/sanitize";

/** The sets, in the order of the list of tools. */
const SETS = {
  read: [
    "dashboard.overview",
    "diagnostics.run",
    "history.list",
    "runs.list",
    "runs.show",
    "jobs.list",
    "scripts.list",
    "commands.list",
    "commands.show",
    "execute.check",
    "usb.list",
    "usb.events",
    "sessions.get",
    "sync.status",
    "config.list",
    "desk.show",
    "audit.list",
    "audit.status",
  ],
  screen: [
    "desktop.snapshot",
    "desktop.screenshot",
    "desktop.screen_size",
    "desktop.mouse_position",
    "desktop.windows",
    "desktop.read_text",
    "desktop.locate_text",
    "desktop.wait_text",
    "desktop.wait_still",
    "desktop.get_clipboard",
  ],
  act: [
    "desktop.snapshot",
    "desktop.act",
    "desktop.screenshot",
    "desktop.windows",
    "lease.request",
    "lease.end",
  ],
  jobs: [
    "commands.list",
    "commands.show",
    "execute.check",
    "execute.actions",
    "runs.list",
    "runs.show",
    "runs.cancel",
    "history.list",
    "scripts.list",
    "scripts.run",
    "secret.list",
    "jobs.list",
    "jobs.add",
    "jobs.add_cron",
    "jobs.remove",
    "jobs.pause",
    "jobs.resume",
    "jobs.run",
    "traces.list",
  ],
  fleet: [
    "admin.list_hosts",
    "admin.witness",
    "link.list",
    "nats.show",
    "admin.poll",
    "admin.broadcast_execute",
    "plan.list",
    "plan.show",
    "plan.new",
    "plan.apply",
    "plan.pause",
    "plan.resume",
    "plan.cancel",
    "plan.retry",
    "plan.remove",
  ],
  desktop: [
    "lease.request",
    "lease.end",
    "desktop.snapshot",
    "desktop.act",
    "desktop.screenshot",
    "desktop.screen_size",
    "desktop.windows",
    "desktop.locate_text",
    "desktop.wait_window",
    "desktop.wait_window_gone",
    "desktop.set_mouse_position",
    "desktop.click_mouse",
    "desktop.press_mouse",
    "desktop.release_mouse",
    "desktop.mouse_scroll",
    "desktop.drag",
    "desktop.type_keyboard",
    "desktop.press_keyboard_key",
    "desktop.release_keyboard_key",
    "desktop.hotkey",
    "desktop.write",
    "desktop.focus_window",
    "desktop.move_window",
    "desktop.resize_window",
    "desktop.close_window",
    "desktop.minimize_window",
    "desktop.maximize_window",
    "desktop.locate_and_click",
    "desktop.set_clipboard",
    "mcp.sessions",
    "mcp.keep",
    "runs.mend",
    "scripts.mend",
    "scripts.drafts",
  ],
  others: [
    "audit.verify",
    "desktop.get_pixel",
    "desktop.locate",
    "desktop.screenshot_diff",
    "desktop.wait_image",
    "desktop.wait_image_gone",
    "desktop.wait_pixel",
    "elements.at",
    "inspector.recent",
    "inspector.summary",
    "inspector.reset",
    "licenses.list",
    "link.show",
    "rest.requests",
    "sessions.close",
    "sync.start",
    "sync.stop",
    "usb.watch.start",
    "usb.watch.stop",
    "witness.key",
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** The words for `--toolsets`; `all` has what is in no other set as well. */
export const TOOLSETS = ["read", "screen", "act", "jobs", "fleet", "desktop", "all"] as const;

type Toolset = (typeof TOOLSETS)[number];

/** Without a choice; with `write`, what acts by name within a lease is in the place of what reads text from pictures. */
const DEFAULT_TOOLSETS: readonly Toolset[] = ["read", "screen"];
const DEFAULT_WITH_WRITE: readonly Toolset[] = ["read", "act"];

/** The operations with which an agent asks for a lease and gives it back. */
export const LEASE_TOOLS: ReadonlySet<string> = new Set(["lease.request", "lease.end"]);

const LEASED = {
  act: ["desktop.snapshot", "desktop.act"],
  // What is about scripts and runs is of the whole host: a lease lends nothing for it.
  desktop: SETS.desktop.filter((name) => name.startsWith("desktop.")),
} as const;

/** The operations that a lease for these toolsets has, by name: what looks at its desktop, and what acts on it. */
export const offeredInLease = (toolsets: ReadonlyArray<keyof typeof LEASED>): ReadonlySet<string> =>
  new Set([...SETS.screen, ...toolsets.flatMap((set): readonly string[] => LEASED[set])]);

/** Whether it is of the desktop: within a lease it acts on that of the lease, or ends it. */
export const isOfDesktop = (name: string): boolean => offeredInLease(["act", "desktop"]).has(name);

/** The tool that does what another has proposed. */
export const CONFIRM = "confirm";

/** What an agent is to have. */
export interface Choice {
  readonly toolsets?: readonly Toolset[] | undefined;
  /** Tools by name, besides those of `toolsets`; without `toolsets`, these alone. */
  readonly tools?: readonly string[] | undefined;
  /** Tools by name that it shall not have, whatever the others say. */
  readonly exclude?: readonly string[] | undefined;
  /** Whether it may change something. */
  readonly write: boolean;
}

/** The name of an operation as a tool: `usb_list`. */
export const toolName = (operation: string): string => operation.replaceAll(".", "_");

const ALL: readonly string[] = [...new Set(Object.values(SETS).flat())];

const LEFT_OUT = `${CONFIRM} is there wherever something is proposed: leave out write instead`;

/** What was expected in place of this name of a tool; undefined where it is one. */
export function expectedFor(name: string): string | undefined {
  const known = ALL.map(toolName);
  return known.includes(name) || name === CONFIRM ? undefined : `the name of a tool${meant(name, known)}`;
}

/** As {@link expectedFor}, for a tool to leave out. */
export const expectedOfExcluded = (name: string) =>
  name === CONFIRM ? `another tool (${LEFT_OUT})` : expectedFor(name);

/**
 * The operations of a choice, in the order of the sets, whatever the order of the words.
 *
 * @throws a `bad_input` failure for a tool that there is not, or that a choice without `write` cannot have.
 */
export function chosen(
  operations: readonly Operation[],
  { toolsets, tools, exclude = [], write }: Choice,
): Operation[] {
  const byTool = new Map(operations.map((one) => [toolName(one.name), one]));
  const known = ALL.map(toolName).filter((name) => byTool.has(name));
  const isOffered = (name: string) => {
    const one = byTool.get(name);
    return one !== undefined && (write || isReadOnly(one));
  };
  if (exclude.includes(CONFIRM)) throw badInput(`tools: ${LEFT_OUT}`);
  for (const name of [...(tools ?? []), ...exclude]) {
    if (known.includes(name) || (write && name === CONFIRM)) continue;
    throw badInput(`tools: there is no tool ${printable(name, 80)}${meant(name, known)}`);
  }
  const refused = (tools ?? []).find((name) => !isOffered(name) && name !== CONFIRM);
  if (refused !== undefined) throw badInput(`tools: ${refused} changes something, which needs write`);
  const byDefault = write ? DEFAULT_WITH_WRITE : DEFAULT_TOOLSETS;
  const sets = toolsets ?? (tools === undefined ? byDefault : []);
  const inSets = sets.flatMap((set): readonly string[] => (set === "all" ? ALL : SETS[set])).map(toolName);
  const wanted = new Set([...inSets, ...(tools ?? [])]);
  return known.flatMap((name) => {
    const one = byTool.get(name);
    return one && wanted.has(name) && isOffered(name) && !exclude.includes(name) ? one : [];
  });
}

/** Says that a choice with `write` has no tool that changes something; undefined where it has one. */
function withoutChanges(offered: readonly Operation[]): string | undefined {
  if (offered.some((one) => !isReadOnly(one))) return undefined;
  const changing = TOOLSETS.filter((set) => set !== "read" && set !== "screen").join(", ");
  return `write: none of these tools changes something; the toolsets that have some: ${changing}`;
}

/** What an agent is offered, and what it shall not have in lists of actions either, by the names of operations. */
export interface Offer {
  readonly offered: readonly Operation[];
  readonly without: readonly string[];
  /** What is to be said of it, to whoever has chosen. */
  readonly notice: string | undefined;
}

/** As {@link chosen}, with what is excluded. */
export function offerOf(operations: readonly Operation[], choice: Choice): Offer {
  const { exclude = [] } = choice;
  const without = operations.flatMap(({ name }) => (exclude.includes(toolName(name)) ? name : []));
  const offered = chosen(operations, choice);
  return { offered, without, notice: choice.write ? withoutChanges(offered) : undefined };
}
