/** How the folders of desktops go, and what stays. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeeper } from "../../../src/host/desktops/keeper";
import { runToEnd, temporaryFolder, testWith, until } from "../../support";

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../../..");
const isRoot = process.getuid?.() === 0;
const canMount = isRoot && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;

/** Makes a desktop's folder in which `other` is mounted, and ends it, and all of them. @returns what a script then prints. */
const ENDED = `
  import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
  import { createKeeper, sweep } from "./src/host/desktops/keeper";
  const isWatched = () => readdirSync("/proc").some((pid) => {
    try {
      const line = readFileSync("/proc/" + pid + "/cmdline", "utf8");
      return line.includes("svc-desktop-keeper") && line.includes(keeper.folder);
    } catch {
      return false;
    }
  });
  const keeper = await createKeeper();
  const folder = keeper.folder + "/1";
  const share = folder + "/own/tmp/a share";
  mkdirSync(share, { recursive: true });
  Bun.spawnSync(["mount", "--bind", process.env.OTHER, share]);
  const isKept = () => existsSync(process.env.OTHER + "/file");
  const kept = [];
  // As the user of a desktop, to whom that mount does not belong.
  const asNobody = (command) => ["setpriv", "--reuid=65534", "--clear-groups", "--", ...command];
  const refused = await keeper.end(folder, asNobody).then(() => "", (error) => error.message);
  kept.push(isKept());
  keeper.leave();
  while (isWatched()) await Bun.sleep(10);
  kept.push(isKept());
  await sweep();
  kept.push(isKept());
  Bun.spawnSync(["umount", share]);
  await sweep();
  console.log(JSON.stringify({ refused, kept, isGone: !existsSync(keeper.folder) }));
`;

(canMount ? testWith("unshare", "mount", "umount", "setpriv") : test.skip)(
  "what is mounted in the folder of a desktop is not removed, nor is the folder before that is taken off",
  async () => {
    using within = temporaryFolder();
    const [TMPDIR, OTHER] = [join(within.path, "tmp"), join(within.path, "other")];
    for (const folder of [TMPDIR, OTHER]) mkdirSync(folder);
    writeFileSync(join(OTHER, "file"), "");
    const env = { ...process.env, TMPDIR, OTHER };
    const { stdout } = await runToEnd(["unshare", "-m", process.execPath, "-e", ENDED], { cwd: ROOT, env });
    expect(JSON.parse(stdout)).toEqual({
      refused: expect.stringContaining("stays, as something is mounted at"),
      kept: [true, true, true],
      isGone: true,
    });
  },
);

test.skipIf(isRoot || process.platform === "win32")(
  "a folder that nobody may look into goes with the desktop, and with svc",
  async () => {
    const keeper = await createKeeper();
    const [one, other] = ["1", "2"].map((nth) => join(keeper.folder, nth)) as [string, string];
    for (const folder of [one, other]) {
      mkdirSync(join(folder, "own/closed/within"), { recursive: true });
      chmodSync(join(folder, "own/closed"), 0);
    }
    await keeper.end(one, (command) => command);
    expect(existsSync(one)).toBe(false);
    keeper.leave();
    await until("the folder to go", () => !existsSync(keeper.folder));
  },
);
