/** What a host knows of the newest upgrade that its desk has had begun, whichever process died. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { carryOut, lastUpgrade, readOrder, writeOrder } from "../../../src/host/release/order";
import { upgradeFiles, writeState } from "../../../src/wire/release/files";
import { temporaryFolder } from "../../support";
import { makeKey } from "./support";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();

function host() {
  const folder = temporaryFolder();
  const [place, binary] = [join(folder.path, "upgrade"), join(folder.path, "svc")];
  mkdirSync(place);
  mkdirSync(upgradeFiles(binary).folder);
  const order = { format: 1, id: "job", from: "0.1.0", to: "0.2.0", sha256: "0".repeat(64) } as const;
  return {
    ...{ place, binary },
    order: (more: object = {}) =>
      writeOrder(place, { ...order, began: at(-1), pid: null, ended: null, error: null, ...more }),
    state: (more: object = {}) =>
      writeState(binary, {
        ...{ format: 1, id: "job", from: "0.1.0", to: "0.2.0", step: "swapped", error: null },
        ...{ pid: process.pid, began: at(-1), ended: null, ...more },
      }),
    last: () => lastUpgrade(place, binary, "0.1.0", NOW),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const NOBODY = 2 ** 22 + 1;

describe("a host says", () => {
  test("nothing, where no desk has had one begun, or what is kept is no order", () => {
    using one = host();
    expect(one.last()).toBeNull();
    writeFileSync(join(one.place, "order.json"), "{");
    expect(one.last()).toBeNull();
  });

  test("that it is under way, before anything is replaced and after", () => {
    using one = host();
    one.order();
    expect(one.last()).toEqual({ id: "job", from: "0.1.0", to: "0.2.0", ok: null, error: null });
    one.state();
    expect(one.last()).toMatchObject({ ok: null });
  });

  test("that nobody takes an order of a time to come: the clock was set back since", () => {
    using one = host();
    one.order({ began: at(60) });
    expect(one.last()).toMatchObject({ ok: false });
  });

  test("that it is over as soon as the new version answers, though nobody has noted the end of the order", () => {
    using one = host();
    one.order();
    one.state({ step: "ok", ended: at(0) });
    expect(one.last()).toMatchObject({ ok: true, error: null });
  });

  test("why it went back", () => {
    using one = host();
    one.order();
    one.state({ step: "back", error: "0.2.0 was not ready", ended: at(0) });
    expect(one.last()).toMatchObject({ ok: false, error: "0.2.0 was not ready" });
  });

  test("that it was interrupted, where its process has died, in the middle or before it began", () => {
    using one = host();
    one.order();
    one.state({ pid: NOBODY });
    expect(one.last()).toMatchObject({ ok: false, error: expect.stringContaining("was interrupted") });
    one.state({ id: "another, by hand" });
    expect(one.last()).toMatchObject({ ok: null });
  });

  test.each([
    ["has not begun within a minute", { began: at(-1.1) }],
    ["has died", { pid: NOBODY }],
    ["has an id that is another's by now", { pid: process.pid, began: at(-16) }],
  ])("that its process has died, where that %s", (_what, more) => {
    using one = host();
    one.order(more);
    expect(one.last()).toMatchObject({ ok: false, error: expect.stringContaining("its process has died") });
    one.order({ pid: process.pid, began: at(-14) });
    expect(one.last()).toMatchObject({ ok: null });
  });
});

test("an upgrade that begins with a file that is not there ends with the reason, and is not repeated", async () => {
  using one = host();
  one.order();
  const { secret } = makeKey(one.place);
  const options = async () => ({
    ...{ binary: one.binary, version: "0.1.0", target: "linux-x64", key: secret.publicKey },
    ...{ daemons: [], requireReadable() {} },
  });
  await carryOut(one.place, "another job", options);
  expect(readOrder(one.place)).toMatchObject({ pid: null, ended: null });
  await carryOut(one.place, "job", options);
  expect(one.last()).toMatchObject({ ok: false, error: expect.stringContaining("cannot be read (ENOENT)") });
  const ended = readOrder(one.place);
  await carryOut(one.place, "job", options);
  expect(readOrder(one.place)).toEqual(ended);
});

test("an upgrade that cannot be looked into ends with the reason", async () => {
  using one = host();
  one.order();
  await carryOut(one.place, "job", async () => {
    // Whoever asks meanwhile knows whose process it is.
    expect(readOrder(one.place)).toMatchObject({ pid: process.pid, ended: null });
    throw new Error("no daemon can be read");
  });
  expect(one.last()).toMatchObject({ ok: false, error: "it ended early (no daemon can be read)" });
});

test("an upgrade whose end cannot be noted does not fail over that", async () => {
  using one = host();
  one.order();
  await carryOut(one.place, "job", async () => {
    rmSync(one.place, { recursive: true });
    throw new Error("whatever");
  });
});
