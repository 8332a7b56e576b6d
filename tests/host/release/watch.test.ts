/** What a server that starts says of the upgrade that started it. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { watchUpgrade } from "../../../src/host/release/watch";
import { silentLog } from "../../../src/lib/log";
import { type UpgradeState, upgradeFiles, writeState } from "../../../src/wire/release/files";
import { temporaryFolder } from "../../support";

/** An upgrade whose process was killed after it had put the new program in place. */
const INTERRUPTED: UpgradeState = {
  ...{ format: 1, id: "one", from: "0.1.0", to: "0.2.0", step: "swapped", error: null },
  // No process has it (proc(5), pid_max).
  pid: 4_194_305,
  ...{ began: "2026-11-23T00:00:00.000Z", ended: null },
};

/** A server that was upgraded. @returns its rows, and what starts it. */
function server(binary: string, seenFile: string) {
  const rows: string[] = [];
  const uses = {
    ...{ binary, version: "0.2.0", seenFile, log: silentLog },
    publish() {},
    async record(detail: string) {
      rows.push(detail);
    },
  };
  return { rows, start: () => watchUpgrade(uses, new AbortController().signal) };
}

test("an upgrade that had ended before the server looked is reported once; one of long ago is not", async () => {
  using folder = temporaryFolder();
  const binary = join(folder.path, "svc");
  mkdirSync(upgradeFiles(binary).folder);
  const { rows, start } = server(binary, join(folder.path, "upgrade_seen"));
  const long = "2026-01-01T00:00:00.000Z";
  writeState(binary, { ...INTERRUPTED, id: "old", step: "ok", ended: long });
  await start();
  expect(rows).toEqual([]);
  const now = new Date().toISOString();
  writeState(binary, { ...INTERRUPTED, step: "failed", error: "neither was ready", ended: now });
  await start();
  await start();
  expect(rows).toEqual(["upgrade one 0.1.0 -> 0.2.0: neither was ready"]);
  // From then on, each is.
  writeState(binary, { ...INTERRUPTED, id: "two", step: "ok", ended: long });
  await start();
  expect(rows.slice(1)).toEqual(["upgrade two 0.1.0 -> 0.2.0: ok"]);
});

test("an upgrade that was interrupted is reported once, and the next one again", async () => {
  using folder = temporaryFolder();
  const binary = join(folder.path, "svc");
  mkdirSync(upgradeFiles(binary).folder);
  writeState(binary, INTERRUPTED);
  const rows: string[] = [];
  let isFull = true;
  const start = () =>
    watchUpgrade(
      {
        ...{ binary, version: "0.2.0", seenFile: join(folder.path, "upgrade_seen"), log: silentLog },
        publish() {},
        async record(detail) {
          if (isFull) throw new Error("the disk is full");
          rows.push(detail.replace(/ at .*/, ""));
        },
      },
      new AbortController().signal,
    );
  // What is not on record is reported by the next start.
  await start();
  isFull = false;
  await start();
  await start();
  expect(rows).toEqual(["upgrade one 0.1.0 -> 0.2.0: the upgrade from 0.1.0 to 0.2.0"]);
  writeState(binary, { ...INTERRUPTED, id: "two" });
  await start();
  await start();
  expect(rows).toHaveLength(2);
});
