import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { openSessions } from "../../src/peers/open";
import { temporaryFolder } from "../support";

test("the index of the inboxes moves out of the folder of the syncs before the first session", async () => {
  using home = temporaryFolder();
  const { formerInboxIndex, inboxIndex, inbox } = configFiles(home.path);
  mkdirSync(dirname(formerInboxIndex));
  for (const name of ["inbox.db", "inbox.db-wal", "other.db"])
    writeFileSync(join(dirname(formerInboxIndex), name), name);
  const place = { folder: inbox, quota: 0, maxFiles: 0, minFree: 0 };
  const sessions = openSessions(home.path, place, undefined, { log: silentLog, record() {} });
  const offer = { type: "offer" as const, sdp: "v=0", viewer_id: "peer", features: [] };
  await expect(sessions.answer(offer)).rejects.toMatchObject({ code: "rejected" });
  await sessions.stop();
  expect(readdirSync(dirname(formerInboxIndex))).toEqual(["other.db"]);
  expect(readdirSync(dirname(inboxIndex)).sort()).toEqual(["inbox.db", "inbox.db-wal"]);
});
