/** The viewers of the live screen: who may look, who controls, what goes on record. */

import { describe, expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Grant, Scope } from "../../../../src/core/rights";
import { createApprovals } from "../../../../src/host/approvals/approvals";
import { LiveScreen, type LiveScreenParts } from "../../../../src/host/desktop/screen/screens";
import { createTrustedViewers } from "../../../../src/host/desktop/screen/trusted-viewers";
import { conflict, notFound } from "../../../../src/lib/errors";
import { silentLog } from "../../../../src/lib/log";
import { Requester } from "../../../../src/lib/slots";
import { temporaryFolder, until } from "../../../support";
import { standIn } from "./stand-in";

const grantOf = (name: string | null, ...scopes: Scope[]): Grant => ({ name, scopes });
const ANN = grantOf("ann", "screen", "operate");
const EVE = grantOf("eve", "screen");
const BOB = grantOf("bob", "operate");

function made(options: Partial<LiveScreenParts> = {}) {
  const fake = standIn();
  const rows: string[] = [];
  const events: string[] = [];
  const cancelled: string[] = [];
  const ended = new Map<string, AbortController>();
  const made = createApprovals({});
  const screens = new LiveScreen({
    log: silentLog,
    desktop: fake.desktop,
    isOn: true,
    asksFirst: false,
    isTrusted: () => false,
    approvals: async () => made,
    record: async (detail) => void rows.push(detail),
    async endLease(id, why) {
      cancelled.push(`lease ${id} ${why}`);
    },
    async cancelRun(id, why) {
      cancelled.push(`${id} ${why}`);
    },
    untilRevoked(name) {
      const control = ended.get(name) ?? new AbortController();
      ended.set(name, control);
      return control.signal;
    },
    publish: (type, data) => void events.push(`${type.name} ${Object(data).state} ${Object(data).control}`),
    ...options,
  });
  const admit = (grant: Grant, control = false, signal = new AbortController().signal) =>
    screens.admit({ caller: { grant, client: "192.0.2.7" }, control, carrier: "websocket", signal });
  /** Lets one in, and carries its stream. */
  const look = async (grant: Grant, control = false) => {
    const admitted = await admit(grant, control);
    const socket = connect({ path: admitted.path });
    socket.write(admitted.key);
    socket.on("error", () => {});
    await until("the stream", () => screens.viewers().find(({ id }) => id === admitted.id)?.state === "open");
    return { ...admitted, socket };
  };
  const stats = (id: string, idle_s: number | null) => {
    const one = { id, fps: 30, bitrate_kbps: 900, rtt_ms: 4, jitter_ms: 1, loss_pct: null };
    const all = [{ ...one, bytes_sent: 1, width: 800, height: 600, unsent: 0, idle_s }];
    for (const listener of fake.desktop.viewerListeners) listener.viewerStats(all);
  };
  return { ...fake, fake, screens, approvals: made, rows, events, cancelled, ended, admit, look, stats };
}

describe("a viewer", () => {
  test("is let in on record, and its end says how long it was there and whether it controlled", async () => {
    const { screens, look, rows, events, fake } = made();
    using _ = fake;
    const { id, socket, closed } = await look(EVE);
    expect(rows).toEqual([`screen.open viewer=${id} token=eve carrier=websocket control=false`]);
    expect(screens.viewers()).toMatchObject([{ id, name: "eve (192.0.2.7)", state: "open", control: false }]);
    socket.destroy();
    expect(await closed).toEqual({ code: 1_011, reason: "the viewer has gone" });
    expect(rows[1]).toBe(
      `screen.close viewer=${id} token=eve seconds=0 controlled=false reason="the viewer has gone"`,
    );
    expect(events).toEqual(["screen.opened open false", "screen.closed open false"]);
    expect([screens.count(), fake.desktop.viewerListeners.size]).toEqual([0, 0]);
  });

  test("needs the scope screen, and operate to control", async () => {
    const { admit, screens, fake, calls } = made();
    using _ = fake;
    await expect(admit(BOB)).rejects.toMatchObject({ code: "forbidden" });
    await expect(admit(EVE, true)).rejects.toMatchObject({ code: "forbidden" });
    const { id } = await admit(EVE);
    await expect(screens.take(id, "wait")).rejects.toThrow("control needs operate");
    expect(calls).toEqual(["open false"]);
  });

  test("is not let in without a row, where the screen is off, and as the seventeenth", async () => {
    const full = made();
    using _ = full.fake;
    for (let nth = 0; nth < 12; nth++) await full.admit(EVE);
    await expect(full.admit(EVE)).rejects.toMatchObject({ more: { close: 4_004 } });
    for (let nth = 0; nth < 4; nth++) await full.admit(grantOf(null, "admin"));
    await expect(full.admit(grantOf(null, "admin"))).rejects.toThrow("16 viewers already");
    const off = made({ isOn: false });
    using __ = off.fake;
    await expect(off.admit(EVE)).rejects.toThrow("--no-screen");
    const silent = made({ record: () => Promise.reject(new Error("no disk")) });
    using ___ = silent.fake;
    await expect(silent.admit(EVE)).rejects.toThrow("no disk");
    expect([silent.calls, silent.screens.count()]).toEqual([[], 0]);
  });

  test("has a row of its end where it ended before that of its beginning was on disk", async () => {
    const begun = Promise.withResolvers<void>();
    const rows: string[] = [];
    const { admit, screens, fake } = made({
      async record(detail) {
        rows.push(detail.split(" ", 1).join());
        if (rows.length === 1) await begun.promise;
      },
    });
    using _ = fake;
    const asked = admit(EVE);
    const { id } = await until("the viewer", () => screens.viewers()[0]);
    await screens.end(id, "it was closed here");
    begun.resolve();
    await expect(asked).rejects.toThrow("it was closed here");
    expect(rows).toEqual(["screen.open", "screen.close"]);
  });

  test("ends with its token, with its client, and by a person, and its carrier gets the reason", async () => {
    const { look, ended, admit, screens, fake } = made();
    using _ = fake;
    const { closed } = await look(EVE);
    ended.get("eve")?.abort();
    expect(await closed).toEqual({ code: 4_006, reason: "its token has ended" });
    const leaving = new AbortController();
    const left = await admit(ANN, false, leaving.signal);
    leaving.abort();
    expect((await left.closed).code).toBe(1_001);
    const other = await look(ANN);
    expect(screens.sessions()).toMatchObject([{ id: other.id, kind: "screen", role: "host", token: "ann" }]);
    expect(await screens.end(other.id, "it was closed here")).toBe(true);
    expect(await other.closed).toEqual({ code: 4_001, reason: "it was closed here" });
    expect(await screens.end(other.id, "again")).toBe(false);
  });
});

describe("with --screen-approval", () => {
  test("a viewer waits until a person with another token allows it, and is asked again before it controls", async () => {
    const { admit, screens, approvals, fake, calls, events } = made({ asksFirst: true });
    using _ = fake;
    const asked = admit(ANN);
    const waiting = await until("the approval", () => approvals.list()[0]);
    expect(waiting).toMatchObject({ what: "look at the screen", asked_by: "ann", client: "192.0.2.7" });
    expect(screens.viewers()).toMatchObject([{ state: "waiting", approval_id: waiting.id }]);
    expect([calls, events]).toEqual([[], ["screen.waiting waiting false"]]);
    approvals.decide(waiting.id, "allowed", BOB);
    const { id } = await asked;
    const taken = screens.take(id, "wait");
    const again = await until("the second", () => approvals.list().find(({ state }) => state === "waiting"));
    expect(again.what).toBe("control the screen");
    expect(calls).toEqual(["open false"]);
    approvals.decide(again.id, "allowed", BOB);
    await taken;
    expect(calls).toContain("control true");
  });

  test("one that is denied, or that nobody allows, does not see the screen", async () => {
    const { admit, approvals, fake, calls, screens } = made({ asksFirst: true });
    using _ = fake;
    const denied = admit(EVE);
    const { id } = await until("the approval", () => approvals.list()[0]);
    approvals.decide(id, "denied", BOB);
    await expect(denied).rejects.toMatchObject({ code: "forbidden", more: { close: 4_002 } });
    const late = made({ asksFirst: true, approvals: async () => createApprovals({ lifetimeMs: 1 }) });
    using __ = late.fake;
    await expect(late.admit(EVE)).rejects.toMatchObject({ more: { close: 4_003 } });
    expect([calls, screens.count(), late.screens.count()]).toEqual([[], 0, 0]);
  });

  test("one that goes while it waits withdraws its question", async () => {
    const { admit, approvals, fake, screens } = made({ asksFirst: true });
    using _ = fake;
    const leaving = new AbortController();
    const asked = admit(EVE, false, leaving.signal);
    await until("the approval", () => approvals.list()[0]);
    leaving.abort();
    await expect(asked).rejects.toThrow("its client has gone");
    expect([approvals.list()[0]?.state, screens.count()]).toEqual(["withdrawn", 0]);
  });

  test("trusted_viewers.json names who is let in at once, as it is now", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "trusted_viewers.json");
    const isTrusted = createTrustedViewers(file, join(folder.path, "lock"), silentLog);
    expect(isTrusted(EVE)).toBe(false);
    const viewers = [
      { viewer_id: "eve", label: "Eve", added_at: "2026-01-01T00:00:00.000Z" },
      { viewer_id: "(owner)", label: "the owner" },
      { label: "broken" },
    ];
    writeFileSync(file, JSON.stringify({ viewers }));
    expect(isTrusted(EVE)).toBe(true);
    // Another token, which got that name later.
    expect(isTrusted({ ...EVE, since: Date.parse("2026-02-01T00:00:00.000Z") })).toBe(false);
    expect(isTrusted(grantOf(null, "admin"))).toBe(true);
    expect(isTrusted({ ...grantOf(null, "admin"), limited: true })).toBe(false);
    expect(isTrusted(ANN)).toBe(false);
    writeFileSync(file, "not JSON at all");
    expect(isTrusted(EVE)).toBe(false);
  });
});

describe("control", () => {
  test("is the input lock: runs wait meanwhile and know for whom, and all keys are up after it", async () => {
    const { look, screens, inputLock, fake, calls, rows } = made();
    using _ = fake;
    const { id, socket } = await look(ANN, true);
    await until("control", () => screens.viewer(id).control);
    expect(inputLock.user()).toBe("viewer ann (192.0.2.7)");
    expect(screens.user()).toMatchObject({ kind: "viewer", id, who: "viewer ann (192.0.2.7)" });
    const run = inputLock.take(new Requester(null), "run 9f1c2e4a (rest 192.0.2.9)");
    await screens.release(id, "enough");
    const hold = await run;
    expect(calls.filter((call) => !/^(open|name)/.test(call))).toEqual([
      "control true",
      "control false",
      "releaseAll",
    ]);
    expect(screens.user()).toMatchObject({ kind: "run", id: "9f1c2e4a" });
    expect(rows).toContain(`screen.control viewer=${id} token=ann control=false reason="enough"`);
    await hold.end("finished");
    socket.destroy();
    await until("the end", () => rows.some((row) => row.includes("controlled=true")));
  });

  test("waits for a run, or cancels it, as was asked", async () => {
    const { look, screens, inputLock, fake, cancelled, calls } = made();
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "run 9f1c2e4a (rest 192.0.2.9)");
    const waiting = screens.take(id, "wait");
    await until("the wait", () => screens.viewer(id).wants_control);
    expect([cancelled, calls.includes("control true")]).toEqual([[], false]);
    const again = screens.take(id, "cancel");
    await until("the cancel", () => cancelled.length > 0);
    expect(cancelled).toEqual(["9f1c2e4a viewer ann (192.0.2.7) took pointer and keyboard"]);
    await hold.end("broken");
    await Promise.all([waiting, again]);
    expect(screens.viewer(id).control).toBe(true);
  });

  test("that a viewer waits for ends when it gives up, and the run goes on", async () => {
    const { look, screens, inputLock, fake, calls } = made();
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "run 9f1c2e4a");
    const waiting = screens.take(id, "wait");
    await until("the wait", () => screens.viewer(id).wants_control);
    await screens.release(id, "given up");
    await expect(waiting).rejects.toThrow("cancelled while waiting");
    await hold.end("finished");
    expect([screens.user(), calls.includes("control true")]).toEqual([null, false]);
  });

  test("is given to nobody whose caller has gone already", async () => {
    const { look, screens, fake, calls } = made();
    using _ = fake;
    const { id } = await look(ANN);
    await expect(screens.take(id, "wait", AbortSignal.abort())).rejects.toThrow("nobody waits for it");
    expect([screens.user(), calls.includes("control true")]).toEqual([null, false]);
  });

  test("comes to a viewer for which somebody waits still, and to none for which nobody does", async () => {
    const { look, screens, inputLock, fake } = made();
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "run 9f1c2e4a");
    const [first, second] = [new AbortController(), new AbortController()];
    const left = screens.take(id, "wait", first.signal);
    const stays = screens.take(id, "wait", second.signal);
    await until("the wait", () => screens.viewer(id).wants_control);
    first.abort();
    await expect(left).rejects.toThrow("nobody waits for it");
    await hold.end("finished");
    await stays;
    expect(screens.viewer(id).control).toBe(true);
    await screens.release(id, "enough");
    const again = await inputLock.take(new Requester(null), "run 9f1c2e4a");
    const third = new AbortController();
    const given = screens.take(id, "wait", third.signal);
    await until("the wait", () => screens.viewer(id).wants_control);
    third.abort();
    await expect(given).rejects.toThrow("nobody waits for it");
    await until("the end of the wait", () => !screens.viewer(id).wants_control);
    await again.end("finished");
    expect(screens.user()).toBeNull();
  });

  test("waits for a yes that one of two still wants", async () => {
    const { admit, screens, approvals, fake } = made({ asksFirst: true });
    using _ = fake;
    const waiting = () =>
      until("the approval", () => approvals.list().find(({ state }) => state === "waiting"));
    const asked = admit(ANN);
    approvals.decide((await waiting()).id, "allowed", BOB);
    const { id } = await asked;
    const first = new AbortController();
    const left = screens.take(id, "wait", first.signal);
    const stays = screens.take(id, "wait", new AbortController().signal);
    const { id: question } = await waiting();
    first.abort();
    await expect(left).rejects.toThrow("nobody waits for it");
    approvals.decide(question, "allowed", BOB);
    await stays;
    expect(screens.viewer(id).control).toBe(true);
  });

  test("goes from one viewer to another on purpose only", async () => {
    const { look, screens, fake } = made();
    using _ = fake;
    const [first, second] = [await look(ANN), await look(grantOf("carl", "screen", "operate"))];
    await screens.take(first.id, "wait");
    const waiting = screens.take(second.id, "wait");
    await until("the wait", () => screens.viewer(second.id).wants_control);
    expect(screens.viewer(first.id).control).toBe(true);
    await Promise.all([screens.take(second.id, "cancel"), waiting]);
    expect([screens.viewer(first.id).control, screens.viewer(second.id).control]).toEqual([false, true]);
  });

  test("comes at once where the run that was to be cancelled has just ended", async () => {
    const { look, screens, inputLock, fake } = made({
      cancelRun: () => Promise.reject(conflict("run 9f1c2e4a has ended: ok")),
    });
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "run 9f1c2e4a (rest 192.0.2.9)");
    const taken = screens.take(id, "cancel");
    await until("the wait", () => screens.viewer(id).wants_control);
    await hold.end("finished");
    await taken;
    expect(screens.viewer(id).control).toBe(true);
  });

  test("of what another process uses is not cancelled from here", async () => {
    const { look, screens, fake } = made({ cancelRun: () => Promise.reject(notFound("no such run")) });
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await fake.inputLock.take(new Requester(null), "run 9f1c2e4a of process 7");
    await expect(screens.take(id, "cancel")).rejects.toThrow("wait for it");
    await hold.end("finished");
  });

  test("ends after five minutes without input", async () => {
    const { look, screens, fake, stats } = made();
    using _ = fake;
    const { id } = await look(ANN);
    await screens.take(id, "wait");
    stats(id, 299);
    expect(screens.viewer(id)).toMatchObject({ control: true, stats: { fps: 30, rtt_ms: 4 } });
    // Since before it had control.
    stats(id, 301);
    expect(screens.viewer(id).control).toBe(true);
    {
      // The time was set.
      const now = Date.now();
      using _clock = spyOn(Date, "now").mockImplementation(() => now + 301_000);
      stats(id, 301);
      expect(screens.viewer(id).control).toBe(true);
    }
    {
      const now = performance.now();
      using _clock = spyOn(performance, "now").mockImplementation(() => now + 301_000);
      stats(id, 7);
      expect(screens.viewer(id).control).toBe(true);
      stats(id, 301);
    }
    await until("the end", () => !screens.viewer(id).control);
    expect(screens.size()).toEqual({ width: 800, height: 600 });
  });

  test("ends the lease of an agent that uses pointer and keyboard, also where it would wait", async () => {
    const { look, screens, inputLock, fake } = made({
      async endLease(id, why) {
        expect([id, why]).toEqual(["9f1c2e4a", "viewer ann (192.0.2.7) took pointer and keyboard"]);
        await hold.end("broken");
      },
    });
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "lease 9f1c2e4a (claude-code)");
    await screens.take(id, "wait");
    expect(screens.viewer(id).control).toBe(true);
  });

  test("is nobody's when the viewer goes while the run is being cancelled", async () => {
    const cancelling = Promise.withResolvers<void>();
    const { look, screens, inputLock, fake, calls } = made({ cancelRun: () => cancelling.promise });
    using _ = fake;
    const { id } = await look(ANN);
    const hold = await inputLock.take(new Requester(null), "run 9f1c2e4a (rest 192.0.2.9)");
    const taken = screens.take(id, "cancel");
    await screens.end(id, "it was closed here");
    cancelling.resolve();
    await hold.end("broken");
    await expect(taken).rejects.toMatchObject({ code: "cancelled" });
    expect([inputLock.user(), calls.includes("control true")]).toEqual([null, false]);
  });

  test("is not given to a viewer that is ending", async () => {
    const rows = Promise.withResolvers<void>();
    const { look, screens, inputLock, fake } = made({
      record: (detail) => (/^screen.control .*=false/.test(detail) ? rows.promise : Promise.resolve()),
    });
    using _ = fake;
    const { id } = await look(ANN);
    await screens.take(id, "wait");
    const ended = screens.end(id, "it was closed here");
    await until("the lock to be free", () => inputLock.user() === null);
    await expect(screens.take(id, "wait")).rejects.toMatchObject({ code: "not_found" });
    rows.resolve();
    await ended;
    expect(inputLock.user()).toBeNull();
  });

  test("is asked for once, however often a viewer wants it, and not before it is let in", async () => {
    const { admit, screens, approvals, fake } = made({ asksFirst: true });
    using _ = fake;
    const asked = admit(ANN);
    const first = await until("the approval", () => approvals.list()[0]);
    const { id } = await until("the viewer", () => screens.viewers()[0]);
    await expect(screens.take(id, "wait")).rejects.toMatchObject({ code: "conflict" });
    approvals.decide(first.id, "allowed", BOB);
    await asked;
    const taken = [screens.take(id, "wait"), screens.take(id, "cancel")];
    const again = await until("the second", () => approvals.list().find(({ state }) => state === "waiting"));
    expect(approvals.list()).toHaveLength(2);
    approvals.decide(again.id, "allowed", BOB);
    await Promise.all(taken);
    expect(screens.viewer(id).control).toBe(true);
  });

  test("viewers see in the name of the screen who uses pointer and keyboard", async () => {
    const { look, screens, fake, calls } = made();
    using _ = fake;
    const { id } = await look(ANN);
    await screens.take(id, "wait");
    await screens.release(id, "enough");
    expect(calls.filter((call) => call.startsWith("name"))).toEqual([
      "name HOST",
      "name HOST: viewer ann (192.0.2.7) uses pointer and keyboard",
      "name HOST",
    ]);
  });
});
