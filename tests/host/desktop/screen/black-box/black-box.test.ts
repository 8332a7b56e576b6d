/** The black box of a server: when it records, who may look, and what is on record of it. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BlackBox } from "../../../../../src/host/desktop/screen/black-box/black-box";
import type { BlackBoxCalls, BoxOptions } from "../../../../../src/host/desktop/screen/black-box/calls";
import { keepLimits } from "../../../../../src/host/desktop/screen/black-box/limits";
import { createBoxReader } from "../../../../../src/host/desktop/screen/black-box/reader";
import { filesOf, keepSegments, segmentsIn } from "../../../../../src/host/desktop/screen/black-box/segments";
import { unavailable } from "../../../../../src/lib/errors";
import { silentLog } from "../../../../../src/lib/log";
import { Requester } from "../../../../../src/lib/slots";
import { post, runActions, temporaryFolder, testServer, until } from "../../../../support";
import { makeToken } from "../../../mcp/support";
import { addSegment } from "./support";

const SETTINGS = { spanMs: 3_600_000, maxBytes: 64_000_000, exclude: [] };

/** A desktop whose recorder records nothing, and ends as it is told. */
function desktopOf() {
  const state = {
    fault: "",
    options: undefined as BoxOptions | undefined,
    begun: 0,
    end: () => {},
    calls: {
      async keepBlackBox(options) {
        state.begun++;
        state.options = options;
        if (state.fault) throw unavailable(state.fault);
        await new Promise<void>((resolve) => {
          state.end = resolve;
        });
      },
      async stopBlackBox() {
        state.end();
      },
      blackBoxState: async () => ({ dark: null, no_texts: null, not_told: null }),
    } satisfies BlackBoxCalls,
  };
  return state;
}

function boxOn(path: string, settings: typeof SETTINGS | null = SETTINGS) {
  const desktop = desktopOf();
  const events: string[] = [];
  const box = new BlackBox({
    ...{ folder: join(path, "black-box"), keyFile: join(path, "black_box_key"), log: silentLog },
    settings: settings ?? undefined,
    desktop: async () => desktop.calls,
    reader: createBoxReader(silentLog),
    publish: (type) => void events.push(type.name),
    againMs: 10,
  });
  return { box, desktop, events, [Symbol.asyncDispose]: () => box.stop() };
}

describe("the black box of a server", () => {
  test("records with a key that it makes (0600), and says so", async () => {
    using folder = temporaryFolder();
    await using made = boxOn(folder.path);
    expect(await made.box.status()).toMatchObject({ state: "waiting", bytes: 0, oldest: null });
    made.box.start();
    await until("the event", () => made.events.includes("black_box.started"));
    expect(await made.box.status()).toMatchObject({ state: "on", span_s: 3_600 });
    expect(made.desktop.options).toMatchObject({ ...SETTINGS, folder: join(folder.path, "black-box") });
    expect(statSync(join(folder.path, "black_box_key")).mode & 0o777).toBe(0o600);
  });

  test("is paused until it is resumed, also by the next server", async () => {
    using folder = temporaryFolder();
    {
      await using made = boxOn(folder.path);
      made.box.start();
      await until("the recorder", () => made.desktop.begun === 1);
      await made.box.pause("ann");
      expect(await made.box.status()).toMatchObject({ state: "paused" });
      expect(made.events.at(-1)).toBe("black_box.paused");
    }
    await using next = boxOn(folder.path);
    next.box.start();
    expect([await next.box.status(), next.desktop.begun]).toMatchObject([{ state: "paused" }, 0]);
    next.box.resume();
    await until("the recorder", () => next.desktop.begun === 1);
    expect(await next.box.status()).toMatchObject({ state: "on" });
  });

  test("is a person's pause once a person has paused it, whatever a state wants, also for the next server", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "black-box", "paused.json");
    {
      await using made = boxOn(folder.path);
      await made.box.pause("desk", "lab");
      expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ token: "desk", state: "lab" });
      await made.box.pause("ann");
      await made.box.pause("desk", "lab");
      expect(made.events).toEqual(["black_box.paused", "black_box.paused"]);
    }
    await using next = boxOn(folder.path);
    expect(next.box.paused).toEqual({ token: "ann" });
    writeFileSync(file, "{");
    expect([next.box.isPaused, next.box.paused]).toEqual([true, { token: null }]);
    next.box.resume();
    expect(next.box.paused).toBeUndefined();
  });

  test("is paused also where that cannot be written down, and says so", async () => {
    using folder = temporaryFolder();
    await using made = boxOn(folder.path);
    made.box.start();
    await until("the recorder", () => made.desktop.begun === 1);
    // As with a full disk: nothing can take the place of the file, also for root.
    rmSync(join(folder.path, "black-box"), { recursive: true, force: true });
    writeFileSync(join(folder.path, "black-box"), "");
    expect(made.box.pause("ann")).rejects.toThrow("only until svc starts anew");
    await until("the end of the recorder", () => made.events.includes("black_box.paused"));
    expect(made.box.isPaused).toBe(true);
    expect(made.desktop.begun).toBe(1);
    rmSync(join(folder.path, "black-box"));
    await made.box.pause("ann");
    expect(existsSync(join(folder.path, "black-box", "paused.json"))).toBe(true);
    made.box.resume();
    await until("the next recorder", () => made.desktop.begun === 2);
    expect(made.box.isPaused).toBe(false);
  });

  test("that is off starts also where its folder cannot be read, and says why when it is asked", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "black-box"), "");
    await using made = boxOn(folder.path, null);
    made.box.start();
    expect(made.box.status()).rejects.toThrow("black-box cannot be read (ENOTDIR)");
  });

  test("that is resumed before its pause has taken effect goes on", async () => {
    using folder = temporaryFolder();
    await using made = boxOn(folder.path);
    made.box.start();
    await until("the recorder", () => made.desktop.begun === 1);
    const pausing = made.box.pause("ann");
    made.box.resume();
    await pausing;
    await until("the next recorder", () => made.desktop.begun === 2);
    expect(await made.box.status()).toMatchObject({ state: "on" });
  });

  test("says why it cannot record, and tries again", async () => {
    using folder = temporaryFolder();
    await using made = boxOn(folder.path);
    made.desktop.fault = "no display: DISPLAY is not set";
    made.box.start();
    await until("three tries", () => made.desktop.begun > 2);
    expect(await made.box.status()).toMatchObject({ state: "waiting", problem: made.desktop.fault });
    expect(made.events).toEqual([]);
    made.desktop.fault = "";
    await until("the event", () => made.events.length > 0);
    expect(await made.box.status()).toMatchObject({ state: "on", problem: null });
  });

  test("removes what is older than its span, also while it is paused", async () => {
    using folder = temporaryFolder();
    addSegment(folder.path, "Old");
    await using made = boxOn(folder.path, { ...SETTINGS, spanMs: -60_000 });
    await made.box.pause(null);
    made.box.start();
    expect(segmentsIn(join(folder.path, "black-box"))).toEqual([]);
  });

  test("off, it records nothing, and what it had kept can be looked at until its time is over", async () => {
    using folder = temporaryFolder();
    addSegment(folder.path, "Before the flag was forgotten");
    {
      await using made = boxOn(folder.path);
      made.box.start();
      await until("the recorder", () => made.desktop.begun === 1);
    }
    await using off = boxOn(folder.path, null);
    off.box.start();
    expect(off.desktop.begun).toBe(0);
    const status = await off.box.status();
    expect(status).toMatchObject({ state: "off", segments: 1, span_s: null });
    const stays = Date.parse(status.until ?? "") - Date.now();
    expect(stays).toBeWithin(SETTINGS.spanMs - 60_000, SETTINGS.spanMs + 1);
    const query = { text: "forgotten", from: 0, to: Number.MAX_SAFE_INTEGER, most: 1 };
    expect((await off.box.find(query, new Requester(null))).found).toHaveLength(1);
    await expect(off.box.pause(null)).rejects.toThrow("--black-box");
  });

  test("off, it removes what its span is over for, and keeps the minutes before a failure for a week", async () => {
    using folder = temporaryFolder();
    const box = join(folder.path, "black-box");
    const age = (hours: number) => {
      for (const { path } of segmentsIn(box)) {
        const at = Date.now() / 1_000 - hours * 3_600;
        for (const file of [filesOf(path).tiles, filesOf(path).texts]) utimesSync(file, at, at);
      }
    };
    addSegment(folder.path, "Before it failed");
    keepLimits(box, { span_ms: 3_600_000, max_bytes: 64_000_000 });
    const [from, to] = [new Date(Date.now() - 60_000).toISOString(), new Date().toISOString()];
    keepSegments(box, { run_id: "r", source_type: "scheduler", source_id: "nightly", from, to });
    addSegment(folder.path, "Of no failure", Date.now() - 5_000);
    age(2);
    {
      await using off = boxOn(folder.path, null);
      off.box.start();
      expect(await off.box.status()).toMatchObject({ segments: 1, kept: 1 });
    }
    age(8 * 24);
    await using off = boxOn(folder.path, null);
    off.box.start();
    expect(await off.box.status()).toMatchObject({ segments: 0, until: null });
    const query = { text: "a", from: 0, to: 1, most: 1 };
    await expect(off.box.find(query, new Requester(null))).rejects.toThrow("the black box has nothing here");
  });
});

describe("over HTTP", () => {
  const server = () => testServer({ service: { black_box: 3_600 } });
  const as = (token: string, init: RequestInit = {}): RequestInit => ({
    ...init,
    headers: { ...Object(init.headers), authorization: `Bearer ${token}` },
  });

  test("a picture and finds are for who may see the screen, pausing for who may operate", async () => {
    await using host = await server();
    const time = addSegment(host.configDir, "Error 0x80070005");
    const tokens = {
      reader: await makeToken(host.configDir, "reader", ["read"]),
      looker: await makeToken(host.configDir, "looker", ["screen"]),
      operator: await makeToken(host.configDir, "operator", ["operate"]),
      both: await makeToken(host.configDir, "both", ["screen", "operate"]),
    };
    const film = { since: time, until: new Date().toISOString(), file_path: join(host.configDir, "f.webm") };
    const calls = {
      status: (token: string) => host.call("/black-box", as(token)),
      at: (token: string) => host.call(`/screen/at?time=${time}`, as(token)),
      spans: (token: string) => host.call("/black-box/spans", as(token)),
      find: (token: string) => host.call("/black-box/find", as(token, post({ text: "0x8007" }))),
      film: (token: string) => host.call("/black-box/film", as(token, post(film))),
      pause: (token: string) => host.call("/black-box/pause", as(token, post({}))),
      resume: (token: string) => host.call("/black-box/resume", as(token, post({}))),
    };
    const allowed = await Promise.all(
      Object.entries(tokens).map(async ([who, token]) => {
        const some: string[] = [];
        for (const [name, call] of Object.entries(calls)) if ((await call(token)).ok) some.push(name);
        return [who, some];
      }),
    );
    expect(allowed).toEqual([
      ["reader", ["status"]],
      ["looker", ["at", "spans", "find"]],
      ["operator", ["pause", "resume"]],
      ["both", ["at", "spans", "find", "film", "pause", "resume"]],
    ]);
  }, 60_000);

  test("each look leaves a row, and the answers are what was kept", async () => {
    await using host = await server();
    const time = addSegment(host.configDir, "Error 0x80070005");
    const shown = await (await host.call(`/screen/at?time=${time}`)).json();
    expect(shown).toMatchObject({ format: "png", width: 4, height: 4 });
    const found = await (await host.call("/black-box/find", post({ text: "error" }))).json();
    expect(found).toMatchObject({ count: 1, found: [{ kind: "title", text: "Error 0x80070005" }] });
    const rows = await (await host.call("/audit/list")).text();
    expect(rows).toContain("screen.at time=");
    expect(rows).toContain('black_box.find text=\\"error\\"');
  }, 60_000);

  test("the film takes the place of no file, unless that is asked for", async () => {
    await using host = await server();
    const file_path = join(host.configDir, "night.webm");
    const film = { since: addSegment(host.configDir, "Error"), until: new Date().toISOString(), file_path };
    writeFileSync(file_path, "the film of last night");
    const refused = await host.call("/black-box/film", post(film));
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("is there already"),
    ]);
    expect(readFileSync(file_path, "utf8")).toBe("the film of last night");
    const before = { since: "2020-01-01", until: "2020-01-02", file_path, force: true };
    expect((await host.call("/black-box/film", post(before))).status).toBe(404);
    expect(readFileSync(file_path, "utf8")).toBe("the film of last night");
    expect(readdirSync(host.configDir).filter((name) => name.endsWith(".webm"))).toEqual(["night.webm"]);
    expect((await host.call("/black-box/film", post({ ...film, force: true }))).status).toBe(200);
    expect(readFileSync(file_path, "utf8")).not.toContain("last night");
  }, 60_000);

  test("with --screen-approval, who is not trusted sees nothing of it", async () => {
    await using host = await testServer({ service: { black_box: 3_600, screen_approval: true } });
    const time = addSegment(host.configDir, "Error");
    const looker = await makeToken(host.configDir, "looker", ["screen"]);
    expect((await host.call(`/screen/at?time=${time}`, as(looker))).status).toBe(403);
    expect((await host.call("/black-box/find", as(looker, post({ text: "Error" })))).status).toBe(403);
  });

  test("what was before a failed run of a job is kept, and named; a good one and one of a person keep nothing", async () => {
    await using host = await server();
    await host.service.blackBox();
    addSegment(host.configDir, "Before it failed");
    const fail = [["AC_fail", { message: "no" }]];
    const of = (type: "scheduler" | "rest") => ({ source: { type, id: "nightly", script: "" } });
    await runActions(host.service, [["AC_sleep", [0]]], of("scheduler"));
    await runActions(host.service, fail, of("rest"));
    const { run_id } = await runActions(host.service, fail, of("scheduler"));
    const kept = await until("what is kept", async () => {
      const answer = (await (await host.call("/black-box/kept")).json()) as { count: number };
      return answer.count > 0 && answer;
    });
    expect(kept).toMatchObject({
      count: 1,
      runs: [{ run_id, source_type: "scheduler", source_id: "nightly" }],
    });
    expect(await (await host.call("/black-box")).json()).toMatchObject({ kept: 1 });
    expect(await (await host.call(`/runs/${run_id}`)).json()).toMatchObject({
      black_box: { from: expect.any(String), to: expect.any(String) },
    });
  });

  test("a server that starts without it shows what was kept before, and says until when", async () => {
    using folder = temporaryFolder();
    addSegment(folder.path, "Before the flag was forgotten");
    await using host = await testServer({ service: { configDir: folder.path } });
    await (await host.service.blackBox()).start();
    expect(await (await host.call("/screen/state")).json()).toMatchObject({ black_box: "left" });
    const report = await (await host.call("/diagnose?only=black_box")).json();
    expect(report).toMatchObject({
      checks: [{ severity: "warn", detail: expect.stringContaining("svc was started without --black-box") }],
    });
    const found = await (await host.call("/black-box/find", post({ text: "forgotten" }))).json();
    expect(found).toMatchObject({ count: 1, left_off: 0 });
  });

  test("the live screen says that it is kept", async () => {
    await using host = await server();
    expect(await (await host.call("/screen/state")).json()).toMatchObject({ black_box: "on" });
    await host.call("/black-box/pause", post({}));
    expect(await (await host.call("/screen/state")).json()).toMatchObject({ black_box: "paused" });
    const report = await (await host.call("/diagnose?only=black_box")).json();
    expect(report).toMatchObject({ checks: [{ detail: expect.stringContaining("paused") }] });
  });

  test("without it, nothing is made", async () => {
    await using host = await testServer();
    expect((await host.call("/screen/at?time=2026-01-01")).status).toBe(404);
    expect(await (await host.call("/black-box")).json()).toMatchObject({ state: "off" });
    expect(await (await host.call("/screen/state")).json()).toMatchObject({ black_box: null });
    expect(existsSync(join(host.configDir, "black-box"))).toBe(false);
    expect(existsSync(join(host.configDir, "black_box_key"))).toBe(false);
  });
});
