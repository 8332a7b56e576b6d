/** Leases for tests, on a desktop that only notes what is done on it. */
import { join } from "node:path";
import { localCaller } from "../../../src/core/caller";
import type { Grant } from "../../../src/core/rights";
import { createApprovals } from "../../../src/host/approvals/approvals";
import type { DesktopWindow } from "../../../src/host/desktop/backend";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { createInputLock } from "../../../src/host/desktop/input-lock";
import type { Lease, Terms } from "../../../src/host/leases/lease";
import { Leases } from "../../../src/host/leases/leases";
import type { LeasesParts } from "../../../src/host/leases/parts";
import { offeredInLease } from "../../../src/host/mcp/toolsets";
import { silentLog } from "../../../src/lib/log";
import { operations } from "../../../src/operations";
import { temporaryFolder } from "../../support";

export const AGENT: Grant = { name: "agent", scopes: ["read", "screen"] };
export const ANN: Grant = { name: "ann", scopes: ["read", "operate"] };
/** Who may give secrets, and have programs started. */
const OWNER: Grant = { name: null, scopes: ["admin"] };

export const TERMS: Terms = {
  ...{ what: "enter orders", minutes: 15, desktop: "new", toolsets: ["act", "desktop"], windows: [] },
  ...{ programs: [], actions: 100, secrets: [], start: [], record: false },
};

const windowOf = (title: string, process: string, x: number, focused: boolean): DesktopWindow => ({
  ...{
    hwnd: x,
    title,
    process,
    x,
    y: 0,
    width: 100,
    height: 100,
    desktop: 0,
    pid: x,
    state: "normal",
    focused,
  },
});

/** A desktop with the windows *Order 7* of crm (0 to 99) and *Mail* of thunderbird (200 to 299). */
function standIn(folder: string) {
  const acts: string[] = [];
  let pointer = { x: 5, y: 5 };
  let down = 0;
  let meanwhile = () => {};
  const windows = [windowOf("Order 7 - CRM", "crm", 0, true), windowOf("Mail", "thunderbird", 200, false)];
  const inputLock = createInputLock(join(folder, "lock"), async () => void acts.push("release all"));
  const point = (name: string) => async (target: { x?: number; y?: number }) => {
    pointer = { ...pointer, ...target };
    acts.push(`${name} ${pointer.x},${pointer.y}`);
    meanwhile();
    return pointer;
  };
  const noting = (name: string) => async (first: unknown) => void acts.push(`${name} ${first}`);
  let striking = () => {};
  const strike = async (keys: readonly string[]) => {
    acts.push(`strike ${keys}`);
    striking();
  };
  const look = async (id: string) => ({
    ...{ window_title: id.startsWith("mail") ? "Mail" : "Order 7 - CRM", app_name: "app", process_id: null },
  });
  let copied = "";
  const clipboard = {
    clipboard: async () => copied,
    async setClipboard(text: string) {
      copied = text;
    },
  };
  const elements = { look, press: noting("press"), setText: noting("set text of"), focus: noting("focus") };
  const desktop = {
    ...{ inputLock, windows: async () => windows, pointer: async () => pointer, keysDown: async () => down },
    ...{ move: point("move"), click: point("click"), scroll: point("scroll") },
    ...clipboard,
    ...{ strike, type: noting("type"), focus: noting("focus window") },
    elements: Object.assign(elements, { of: () => elements }),
  };
  return {
    acts,
    desktop: desktop as unknown as Desktop,
    /** What happens in the middle of each click. */
    atClick(work: () => void) {
      meanwhile = work;
    },
    /** What happens in the middle of each stroke of keys. */
    atStrike(work: () => void) {
      striking = work;
    },
    /** As a person does, or as svc does in an act. */
    pressKeys(count: number) {
      down += count;
    },
    /** As a person does. */
    movePointer(x: number, y: number) {
      pointer = { x, y };
    },
  };
}

/** A caller with a grant. */
export const callerOf = (grant: Grant, signal?: AbortSignal) =>
  localCaller({ audit: async () => null }, "api", { grant, signal });

/** @param work what an operation does on the desktop of the lease. */
export function madeLeases(
  parts: Partial<LeasesParts> = {},
  work: (desktop: Desktop, input: Record<string, unknown>, signal: AbortSignal) => Promise<unknown> = async (
    desktop,
  ) => desktop.click({ x: 10, y: 10 }, "left", "tap"),
) {
  const folder = temporaryFolder();
  const approvals = createApprovals({});
  const screen = standIn(folder.path);
  const rows: string[] = [];
  const events: string[] = [];
  const tokens = new Map<string, AbortController>();
  const ends: string[] = [];
  const leases = new Leases({
    ...{ log: silentLog, publish: (type) => void events.push(type.name), approvals: async () => approvals },
    open: async (name) => ({
      ...{ name: name === "session" ? null : "run-1", desktop: screen.desktop },
      launch: async (command) => void ends.push(`start ${command}`),
      end: async () => void ends.push("desktop"),
    }),
    record: async (detail) => void rows.push(detail),
    untilRevoked(name) {
      const control = tokens.get(name) ?? new AbortController();
      tokens.set(name, control);
      return control.signal;
    },
    offered: offeredInLease,
    async operation(name) {
      const found = operations.find((one) => one.name === name);
      if (!found) throw new Error(name);
      return found;
    },
    perform: async (_operation, input, desktop, caller) => work(desktop, Object(input), caller.signal),
    secrets: async (names) => new Map(names.map((name) => [name, `value of ${name}`])),
    film: async () => async () => void ends.push("film"),
    ...parts,
  });
  const request = (terms: Partial<Terms> = {}, grant = AGENT, isThere?: () => boolean) =>
    leases.request(
      { ...TERMS, ...terms },
      {
        ...{ holder: `${grant.name}`, agent: "claude-code", caller: { grant, client: null } },
        ...(isThere && { isThere }),
      },
    );
  /** One that a person has allowed. */
  const begun = async (terms: Partial<Terms> = {}, isThere?: () => boolean): Promise<Lease> => {
    const { id } = await request(terms, AGENT, isThere);
    approvals.decide(id, "allowed", OWNER);
    return leases.wait(id, 5_000, new AbortController().signal);
  };
  const use = (id: string, operation = "desktop.click_mouse", input = {}, signal?: AbortSignal) =>
    leases.use({ id, holder: "agent", operation, input }, callerOf(AGENT, signal));
  return {
    ...{ leases, approvals, screen, rows, events, ends, request, begun, use },
    revoke: (name: string) => tokens.get(name)?.abort(),
    async [Symbol.asyncDispose]() {
      await leases.stop();
      folder[Symbol.dispose]();
    },
  };
}
