/** One rule for every queue that several callers share: docs/security.md, "Queues". */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { createConnectionSlots } from "../src/client/connection-slots";
import { createDesktop } from "../src/host/desktop/desktop";
import { createInputLock } from "../src/host/desktop/input-lock";
import { createBoxReader } from "../src/host/desktop/screen/black-box/reader";
import { createReader } from "../src/host/desktop/text/reader";
import { createQueries } from "../src/host/desktop/webdriver/query";
import { createWorkTurns } from "../src/http/work-turns";
import { silentLog } from "../src/lib/log";
import { Requester } from "../src/lib/slots";
import { createYamlReader } from "../src/lib/yaml";
import { nextTurn, temporaryFolder } from "./support";

setDefaultTimeout(60_000);

interface Queue {
  /** What refusals and the documentation call it. */
  readonly what: string;
  /** The file of the source that has it. */
  readonly file: string;
  /** How many of tokens may wait. */
  readonly most: number;
  /** Whether the owner has a process of its own there, and waits for nobody. */
  readonly isOwnerApart?: true;
  /** A new one. @returns what asks for one piece of work, which may fail. */
  create(): Work;
}
type Work = ((requester: Requester) => Promise<unknown>) & { end?(): Promise<void> };

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** A desktop that has no display: each call fails in its child process, in its turn. */
function createBlindDesktop() {
  const {
    DISPLAY: _,
    WAYLAND_DISPLAY: _2,
    DBUS_SESSION_BUS_ADDRESS: _3,
    XDG_RUNTIME_DIR: _4,
    ...env
  } = process.env;
  const at = (name: string) => join(folder.path, name);
  const places = { lockFile: at("input.lock"), imagesFolder: at("images"), ocrFolder: at("ocr") };
  return createDesktop({ ...places, log: silentLog, env });
}

const LOOK = { threshold: 0.9, scales: [1], all: false, near: false, marked: false };

/** A black box that has nothing. */
const BOX = { folder: join(folder.path, "black-box"), key: "ab".repeat(32) };

const QUEUES: readonly Queue[] = [
  {
    what: "texts in YAML",
    file: "src/lib/yaml.ts",
    most: 64,
    isOwnerApart: true,
    create() {
      const reader = createYamlReader();
      return (requester) => reader.read("- 1", requester);
    },
  },
  {
    what: "calls of the desktop",
    file: "src/host/desktop/worker.ts",
    most: 256,
    create() {
      const desktop = createBlindDesktop();
      return Object.assign((requester: Requester) => desktop.pointer(requester), {
        end: () => desktop.stop(),
      });
    },
  },
  {
    what: "calls of the desktop",
    file: "src/host/desktop/worker.ts",
    most: 256,
    isOwnerApart: true,
    create() {
      const desktop = createBlindDesktop();
      const image = { asked: "none.png", paths: [] };
      return Object.assign((requester: Requester) => desktop.locate({ ...LOOK, image }, requester), {
        end: () => desktop.stop(),
      });
    },
  },
  {
    what: "calls of elements",
    file: "src/host/desktop/elements/elements.ts",
    most: 256,
    isOwnerApart: true,
    create() {
      const desktop = createBlindDesktop();
      return Object.assign((requester: Requester) => desktop.turnsOf(requester).elements.find({}, 1), {
        end: () => desktop.stop(),
      });
    },
  },
  {
    what: "queries of WebDriver",
    file: "src/host/desktop/webdriver/query.ts",
    most: 64,
    isOwnerApart: true,
    create() {
      const queries = createQueries(silentLog);
      return Object.assign((requester: Requester) => queries.select(requester, [], "xpath", "//a", false), {
        end: () => queries.stop(),
      });
    },
  },
  {
    what: "looks at the black box",
    file: "src/host/desktop/screen/black-box/reader.ts",
    most: 64,
    isOwnerApart: true,
    create() {
      const reader = createBoxReader(silentLog);
      return Object.assign((requester: Requester) => reader.spans(BOX, requester), {
        end: () => reader.stop(),
      });
    },
  },
  {
    what: "films of the black box",
    file: "src/host/desktop/screen/black-box/reader.ts",
    most: 16,
    isOwnerApart: true,
    create() {
      const reader = createBoxReader(silentLog);
      const film = { from: 0, to: 1, file: join(folder.path, "film.webm"), fps: 1, maxBytes: 1 };
      return Object.assign((requester: Requester) => reader.film(BOX, film, requester), {
        end: () => reader.stop(),
      });
    },
  },
  {
    what: "pages",
    file: "src/host/desktop/text/reader.ts",
    most: 16,
    isOwnerApart: true,
    create() {
      const { read } = createReader({ folder: folder.path, log: silentLog, program: () => "true" });
      const sheet = { base64: "", blocks: [] };
      return (requester) =>
        read(async () => ({ x: 0, y: 0, scale: 1, blocks: [], sheets: [sheet] }), "eng", requester);
    },
  },
  {
    what: "requests",
    file: "src/http/work-turns.ts",
    most: 1_024,
    create() {
      const turns = createWorkTurns(0);
      turns.begun(performance.now(), true);
      return async (requester) => {
        await turns.wait(performance.now(), () => requester);
        turns.begun(performance.now(), true);
      };
    },
  },
  {
    what: "runs",
    file: "src/host/desktop/input-lock.ts",
    most: 256,
    create() {
      const lock = createInputLock(join(folder.path, "input.lock"), async () => {});
      return async (requester) => (await lock.take(requester)).end("finished");
    },
  },
  {
    what: "connections",
    file: "src/client/connection-slots.ts",
    most: 16_384,
    create() {
      const slots = createConnectionSlots(1);
      return (requester) => slots.run(requester, nextTurn);
    },
  },
];

/** One queue, which `anna` fills as far as it can, until she has gone. */
async function flooded({ most, create }: Queue, others: ReadonlyArray<string | null>) {
  const work = create();
  const gone = new AbortController();
  const order: string[] = [];
  const refusals: string[] = [];
  const ask = (user: string | null, signal?: AbortSignal) =>
    work(new Requester(user, signal)).then(
      () => order.push(`${user}`),
      ({ message }) => {
        if (/that wait already/.test(message)) refusals.push(`${user}`);
        else if (!signal?.aborted) order.push(`${user}`);
      },
    );
  const flood = Array.from({ length: most + 1 }, () => ask("anna", gone.signal));
  await Promise.all(others.map((user) => ask(user)));
  gone.abort();
  await Promise.all(flood);
  const after = await Promise.race([ask("carl").then(() => "served"), Bun.sleep(30_000)]);
  await work.end?.();
  return { order, refusals, after };
}

describe.each(QUEUES.map((queue) => [queue.what, queue] as const))("the queue of %s", (what, queue) => {
  test("serves the owner and then another token before the second call of a token that fills it", async () => {
    const { order, refusals, after } = await flooded(queue, ["bert", null]);
    const before = (user: string) =>
      order.slice(0, order.indexOf(user)).filter((one) => one === "anna").length;
    expect(before("bert")).toBeLessThanOrEqual(1);
    if (!queue.isOwnerApart) expect(before("null")).toBeLessThanOrEqual(1);
    // One is at work, and half of those that may wait do.
    expect(refusals).toEqual(Array(queue.most / 2).fill("anna"));
    expect(after).toBe("served");
  });

  test("is left by who has gone, at once", async () => {
    const work = queue.create();
    const first = work(new Requester("bert")).catch(() => {});
    const gone = new AbortController();
    let isFirstOver = false;
    void first.then(() => {
      isFirstOver = true;
    });
    const waiting = Array.from({ length: 4 }, () => work(new Requester("anna", gone.signal)));
    gone.abort();
    const settled = await Promise.allSettled(waiting);
    const how = settled.map((one) => one.status === "rejected" && (one.reason.code ?? one.reason.fault));
    expect(how).toEqual(Array(4).fill("cancelled"));
    expect(isFirstOver).toBe(false);
    await first;
    await work.end?.();
  });

  test("is named in docs/security.md", () => {
    const [, section = ""] = readFileSync("docs/security.md", "utf8").split("## Queues");
    expect(section.split("\n## ")[0]).toContain(`| ${what} |`);
  });
});

/** Where work follows other work, and why nobody can hold up others there. */
const NO_QUEUES: Readonly<Record<string, string>> = {
  "src/host/audit/scans.ts": "one scan answers all who ask before it begins",
  "src/host/desktop/gnome/session.ts": "the desktop calls one after the other already",
  "src/host/desktop/record/deeds.ts": "the keys of the one person whose doing is recorded",
  "src/host/desktop/screen/black-box/notice.ts": "one recording at a time begins and ends",
  "src/host/desktop/worker-child.ts": "the parent sends one call at a time",
  "src/host/desktop/x11/keyboard.ts": "the calls of the parent, and one viewer at a time that controls",
  "src/events/hand-over.ts": "the events of this process, in batches",
  "src/http/server.ts": "looks of the server at its own files",
  "src/lib/log.ts": "lines of the log",
  "src/lib/ndjson.ts": "the lines of one answer",
  "src/host/audit/log.ts": "the prunes of the owner, who alone may ask for one",
  "src/host/state/state.ts": "what is applied is work of this host alone, which waits for nobody",
  "src/lib/queue.ts": "what others here are made of",
  "src/lib/turn.ts": "one turn of the event loop for each, and each is over in that turn",
  "src/host/scheduler/scheduler.ts": "looks of the scheduler at the jobs",
  "src/service/features/desk.ts": "changes of the one membership",
  "src/service/links.ts": "changes of the one membership",
  "src/service/nats.ts": "changes of the one membership",
  "src/host/desktop/screen/carry/password.ts":
    "answers of the 16 viewers of one proxy at most, a second for each",
  "src/host/webhooks/feed.ts": "the events of this process, in batches",
  "src/desk/witness/opinions.ts": "one proof answers all who ask for it",
};

/** Slots of one task alone, whose parts share them. */
const OWN_SLOTS = [
  "src/desk/plans/upgrade/upload-places.ts",
  "src/host/leases/begin.ts",
  "src/host/sync/engine.ts",
];

test("there are no other queues", async () => {
  const files = [...new Glob("{src,commands}/**/*.ts").scanSync()].sort();
  const texts = await Promise.all(files.map(async (path) => [path, await Bun.file(path).text()] as const));
  const having = (pattern: RegExp) => texts.flatMap(([path, text]) => (pattern.test(text) ? [path] : []));
  // A chain of promises; a list of those who wait.
  expect(
    having(/(?:\b(?:let|private) |#)\w+(?:: Promise<\w+>)? = Promise\.resolve\(\)|\bcreateQueue\(\)/),
  ).toEqual([...Object.keys(NO_QUEUES), "src/host/desktop/worker.ts"].sort());
  const known = new Set(QUEUES.map(({ file }) => file));
  expect(having(/\bcreateSlots\(\{/)).toEqual([...known, ...OWN_SLOTS].sort());
});
