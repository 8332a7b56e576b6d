/**
 * The commands of WebDriver about a session: its windows, times, pictures, scripts and actions (W3C WebDriver, sections 8 to 18).
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { field } from "../../../core/fields";
import { failing } from "../../../wire/webdriver/errors";
import type { DesktopWindow, WindowRequest } from "../backend";
import { listed, waitUntilGone } from "../windows";
import { type Actor, perform, releaseAll, requireFitting, SOURCES } from "./actions";
import { ELEMENT_KEY } from "./answers";
import { TIMEOUTS } from "./capabilities";
import { ACTING, type Call, type Command, command, LOOKING } from "./command";
import { attributeOf, byHand, elementIn, isDisplayed } from "./element-commands";
import { treeOf, windowOf } from "./find";
import { pngOf } from "./pictures";
import { queryBranch } from "./query";

const NOTHING = v.strictObject({});
const HANDLE = v.pipe(v.string(), v.regex(/^\d{1,16}$/, "a handle of a window"));
const LENGTH = v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(32_767))));
const PLACE = v.optional(
  v.nullable(v.pipe(v.number(), v.integer(), v.minValue(-32_768), v.maxValue(32_767))),
);
/** How long a window may take to close, in seconds. */
const CLOSING_S = 2;

const requester = ({ look: { caller } }: Call) => requesterOf(caller);

/** The titled windows: those that a person would call so. */
async function windows(call: Call): Promise<readonly DesktopWindow[]> {
  return (await listed(call.look.desktop, requester(call))).filter(({ title }) => title !== "");
}

/** The window of the session, else the one that has the focus. @throws `no such window`. */
async function current(call: Call): Promise<DesktopWindow> {
  const own = await windowOf(call.look);
  if (own) return own;
  const focused = (await windows(call)).find((one) => one.focused);
  if (focused) return focused;
  throw failing("no such window", "this session has no window, and none has the focus: switch to one first");
}

const rect = ({ x, y, width, height }: DesktopWindow) => ({ x, y, width, height });

const handleOf = ({ hwnd }: DesktopWindow) => `${hwnd}`;

const inSession = (path: string) => `/session/{session}${path}`;

/** What is about the session alone. */
const HARMLESS = { scope: "screen" } as const;

/** A command without parameters. */
const plain = (
  method: Command["method"],
  path: string,
  name: string,
  summary: string,
  rights: typeof LOOKING | typeof ACTING | typeof HARMLESS,
  run: (call: Call) => unknown,
): Command =>
  command(method, inSession(path), { ...rights, name: `webdriver.${name}`, summary, input: NOTHING, run });

const request = (verb: WindowRequest, summary: string): Command =>
  plain("POST", `/window/${verb}`, `${verb}_window`, summary, ACTING, async (call) => {
    const { hwnd } = await current(call);
    await byHand(call, `webdriver.${verb}_window`, ({ desktop }) =>
      desktop.request(hwnd, verb, requester(call)),
    );
    return rect(await current(call));
  });

/** Reads something of an element; `name` is the second argument of the script. */
type ElementReader = (call: Call, reference: string, name: string) => unknown;

/** What clients read by a script of their own, as browsers have no command for it: by a text that is in the script alone. */
const READS: ReadonlyArray<readonly [text: string, read: ElementReader]> = [
  ["/* getAttribute */", attributeOf],
  ["/* isDisplayed */", isDisplayed],
  // Those of webdriverio.
  ["function isElementDisplayed(element)", isDisplayed],
  ["elem.checkVisibility(params)", isDisplayed],
  ["window.getComputedStyle(elem)", () => ({ value: "" })],
];

async function execute(call: Call, script: string, args: readonly unknown[]): Promise<unknown> {
  const [first, second] = args;
  const read = READS.find(([text]) => script.includes(text))?.[1];
  if (read) {
    const reference =
      typeof first === "object" && first !== null ? Reflect.get(first, ELEMENT_KEY) : undefined;
    if (typeof reference !== "string") throw failing("invalid argument", "args: expected an element first");
    return read(call, reference, `${second}`);
  }
  if (script.trim() === "svc: run") return call.execute(first);
  throw failing(
    "javascript error",
    'script: a desktop runs no JavaScript: "svc: run" runs a list of actions, or a stored script by its name',
  );
}

const SCRIPT = v.strictObject({
  script: field(v.pipe(v.string(), v.maxLength(200_000)), "svc: run"),
  args: field(v.optional(v.array(v.unknown()), []), "A list of actions, or the name of a stored script"),
});

const unsupported = (method: Command["method"], path: string, what: string): Command =>
  command(method, inSession(path), {
    scope: "any",
    name: `webdriver.unsupported`,
    summary: what,
    input: NOTHING,
    run() {
      throw failing("unsupported operation", `${what}: a desktop has none`);
    },
  });

export const sessionCommands: readonly Command[] = [
  plain("GET", "/timeouts", "timeouts", "The times of the session", HARMLESS, ({ look: { session } }) => ({
    ...session.timeouts,
  })),
  command("POST", inSession("/timeouts"), {
    ...HARMLESS,
    name: "webdriver.set_timeouts",
    summary: "Change the times of the session",
    input: v.strictObject({
      script: field(TIMEOUTS.script, "Of a script"),
      pageLoad: field(TIMEOUTS.pageLoad, "Of a page"),
      implicit: field(TIMEOUTS.implicit, "Until an element is there"),
    }),
    run({ look: { session } }: Call, given) {
      Object.assign(session.timeouts, given);
      return null;
    },
  }),
  plain("GET", "/title", "title", "The title of the window", LOOKING, async (call) => {
    const { title } = await current(call);
    return title;
  }),
  plain("GET", "/source", "source", "What the window shows, as XML", LOOKING, async ({ look }) =>
    look.session.queries.source(requesterOf(look.caller), (await treeOf(look)).map(queryBranch)),
  ),
  plain("GET", "/window", "window_handle", "The handle of the window", LOOKING, async (call) =>
    handleOf(await current(call)),
  ),
  plain("GET", "/window/handles", "window_handles", "The handles of all windows", LOOKING, async (call) =>
    (await windows(call)).map(handleOf),
  ),
  command("POST", inSession("/window"), {
    ...LOOKING,
    name: "webdriver.switch_window",
    summary: "Make a window that of the session",
    input: v.strictObject({ handle: field(HANDLE, "Its handle") }),
    async run(call: Call, { handle }) {
      const window = (await windows(call)).find((one) => handleOf(one) === handle);
      if (!window) throw failing("no such window", "there is no window of that handle");
      call.look.session.window = window.hwnd;
      return null;
    },
  }),
  plain("DELETE", "/window", "close_window", "Ask the window to close", ACTING, async (call) => {
    const { hwnd } = await current(call);
    const { desktop } = call.look;
    await byHand(call, "webdriver.close_window", () => desktop.request(hwnd, "close", requester(call)));
    await waitUntilGone(
      desktop,
      { hwnd, timeout: CLOSING_S, poll: 0.05, case_sensitive: false },
      requester(call),
    ).catch(() => {});
    return (await windows(call)).map(handleOf);
  }),
  plain("GET", "/window/rect", "window_rect", "Where the window is", LOOKING, async (call) =>
    rect(await current(call)),
  ),
  command("POST", inSession("/window/rect"), {
    ...ACTING,
    name: "webdriver.set_window_rect",
    summary: "Move and resize the window",
    input: v.strictObject({
      x: field(PLACE, "Left"),
      y: field(PLACE, "Top"),
      width: field(LENGTH, "Width"),
      height: field(LENGTH, "Height"),
    }),
    async run(call: Call, given) {
      const { hwnd } = await current(call);
      const place = Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
      return byHand(call, "webdriver.set_window_rect", ({ desktop }) =>
        desktop.place(hwnd, place, requester(call)),
      );
    },
  }),
  request("maximize", "Maximise the window"),
  request("minimize", "Minimise the window"),
  command("POST", inSession("/frame"), {
    ...HARMLESS,
    name: "webdriver.switch_frame",
    summary: "Leave a frame",
    input: v.strictObject({ id: field(v.optional(v.unknown()), "Null") }),
    run(_call: Call, { id }) {
      if (id == null) return null;
      throw failing("no such frame", "a desktop has no frames: find elements in the window");
    },
  }),
  plain("POST", "/frame/parent", "parent_frame", "Leave a frame", HARMLESS, () => null),
  plain("GET", "/screenshot", "screenshot", "A picture of the desktop", LOOKING, (call) => pngOf(call)),
  ...(["sync", "async"] as const).map((how) =>
    command("POST", inSession(`/execute/${how}`), {
      ...HARMLESS,
      name: "webdriver.execute",
      summary: "Run actions or a stored script",
      input: SCRIPT,
      run: (call: Call, { script, args }) => execute(call, script, args),
    }),
  ),
  command("POST", inSession("/actions"), {
    ...ACTING,
    name: "webdriver.actions",
    summary: "Use pointer, keys and wheel",
    input: v.strictObject({ actions: field(SOURCES, "What, by source") }),
    async run(call: Call, { actions }) {
      requireFitting(actions);
      await byHand(call, "webdriver.actions", (hands) => perform(actorOf(call, hands), actions));
      return null;
    },
  }),
  plain("DELETE", "/actions", "release_actions", "Let go of keys and buttons", ACTING, async (call) => {
    await byHand(call, "webdriver.release_actions", (hands) => releaseAll(actorOf(call, hands)));
    return null;
  }),
  ...["accept", "dismiss"].map((verb) =>
    plain("POST", `/alert/${verb}`, `${verb}_alert`, "Answer an alert of a browser", HARMLESS, noAlert),
  ),
  plain("GET", "/alert/text", "alert_text", "Read an alert of a browser", HARMLESS, noAlert),
  unsupported("GET", "/url", "an address"),
  unsupported("POST", "/url", "an address"),
  unsupported("POST", "/back", "a history"),
  unsupported("POST", "/forward", "a history"),
  unsupported("POST", "/refresh", "a page"),
  unsupported("POST", "/window/new", "a window that svc opens (a program does)"),
  unsupported("POST", "/window/fullscreen", "a full screen that svc asks for"),
  unsupported("POST", "/print", "a page"),
  unsupported("GET", "/cookie", "cookies"),
  unsupported("POST", "/cookie", "cookies"),
  unsupported("DELETE", "/cookie", "cookies"),
];

function noAlert(): never {
  throw failing("no such alert", "a dialog of a desktop is a window: find its buttons");
}

function actorOf(
  call: Call,
  { desktop, requester }: { desktop: Actor["desktop"]; requester: Actor["requester"] },
): Actor {
  return {
    desktop,
    requester,
    session: call.look.session,
    async middleOf(reference) {
      const { center } = await elementIn(call, reference);
      if (center) return center;
      throw failing("element not interactable", "its program does not say where it is");
    },
  };
}
