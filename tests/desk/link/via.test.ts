/** The way to linked hosts through the server of the desk, where that server hangs. */
import { expect, test } from "bun:test";
import { deadlineIn } from "../../../src/client/carrier";
import { createLinkWay } from "../../../src/desk/link/via";
import { ensurePrivateFolder } from "../../../src/lib/files";
import { tryLock } from "../../../src/lib/lock";
import { listenAsOwner } from "../../../src/lib/owner-socket";
import { configFiles } from "../../../src/lib/paths";
import { writeRunFile } from "../../../src/lib/running-server";
import { temporaryFolder } from "../../support";
import { ID } from "./fake-hub";

test("a stream that the server of the desk never opens is given up in time, and its connection ends", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  ensurePrivateFolder(files.runFolder);
  const release = tryLock(files.serveLock);
  const ended = Promise.withResolvers<void>();
  // It takes the call, and says nothing.
  const owner = listenAsOwner(files.ownerFile, async (connection) => {
    void connection.closed.then(ended.resolve);
    await connection.closed;
  });
  try {
    writeRunFile(folder.path, { url: "http://127.0.0.1:9", pid: 1 });
    const { via } = createLinkWay({ configDir: folder.path, hub: () => null });
    using carrier = await via(`link:${ID}`, undefined, null);
    await expect(carrier.open("/events", deadlineIn(50), 60_000)).rejects.toMatchObject({
      fault: "timeout",
      message: "timeout after 0.05 s",
    });
    await ended.promise;
  } finally {
    owner.stop();
    release?.();
  }
});
