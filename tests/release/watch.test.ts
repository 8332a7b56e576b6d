/** What a server that starts says of the upgrade that started it. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { type UpgradeState, upgradeFiles, writeState } from "../../src/release/files";
import { watchUpgrade } from "../../src/release/watch";
import { temporaryFolder } from "../support";

/** An upgrade whose process was killed after it had put the new program in place. */
const INTERRUPTED: UpgradeState = {
  ...{ format: 1, id: "one", from: "0.1.0", to: "0.2.0", step: "swapped", error: null },
  // No process has it (proc(5), pid_max).
  pid: 4_194_305,
  ...{ began: "2026-11-23T00:00:00.000Z", ended: null },
};

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
