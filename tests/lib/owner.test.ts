import { expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { accountOf, foreignOwner } from "../../src/lib/owner";
import { createService } from "../../src/service/service";
import { temporaryFolder } from "../support";

const [ANN, BOB] = [4_242, 4_243];

/** Root has a folder here, in which ann and bob have one each. */
function folders() {
  const folder = temporaryFolder();
  const at = (...names: string[]) => join(folder.path, ...names);
  for (const [name, uid] of Object.entries({ ann: ANN, bob: BOB, own: 0 })) {
    mkdirSync(at(name));
    chownSync(at(name), uid, uid);
  }
  const link = (target: string, path: string, uid: number) => {
    symlinkSync(target, path);
    lchownSync(path, uid, uid);
  };
  return { at, link, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const asRoot = test.skipIf(process.getuid?.() !== 0);
if (process.getuid?.() !== 0) console.warn("skipping tests: only root can have folders of others");

asRoot(
  "a folder decides where it leads with its owner; a new one, with that of the folder it will be in",
  () => {
    using made = folders();
    expect(foreignOwner(made.at("own"))).toBeNull();
    expect(foreignOwner(made.at("new", "newer"))).toBeNull();
    const ann = { uid: ANN, gid: ANN, owns: made.at("ann"), folder: made.at("ann") };
    expect(foreignOwner(made.at("ann"))).toEqual(ann);
    expect(foreignOwner(made.at("ann", "new", "newer"))).toEqual(ann);
  },
);

asRoot("so does whoever owns a folder or a link on the way", () => {
  using made = folders();
  mkdirSync(made.at("ann", "of-root"));
  made.link("../own", made.at("ann", "link"), ANN);
  made.link("ann", made.at("link-of-root"), 0);
  expect(foreignOwner(made.at("ann", "of-root"))?.uid).toBe(ANN);
  expect(foreignOwner(made.at("ann", "link"))).toMatchObject({ uid: ANN, folder: made.at("own") });
  expect(foreignOwner(made.at("link-of-root", "new"))?.uid).toBe(ANN);
});

asRoot("a link of one user into the folder of another is refused, and so is a circle of links", () => {
  using made = folders();
  made.link(made.at("bob"), made.at("ann", "link"), ANN);
  made.link("circle", made.at("ann", "circle"), ANN);
  const refusal = `leads through a link of uid ${ANN} into a folder of uid ${BOB}`;
  expect(() => foreignOwner(made.at("ann", "link"))).toThrow(refusal);
  expect(() => foreignOwner(made.at("ann", "circle"))).toThrow("too many links");
});

asRoot("a program of root's is refused somebody's folder, and touches nothing there", async () => {
  using made = folders();
  chmodSync(made.at("ann"), 0o777);
  const service = createService({ configDir: made.at("ann", "svc") });
  await expect(service.audit()).rejects.toThrow(`belongs to uid ${ANN}, which root must become`);
});

asRoot("a folder that somebody else could make meanwhile is made before it is used", async () => {
  using made = folders();
  mkdirSync(made.at("open"));
  chmodSync(made.at("open"), 0o1777);
  for (const [parent, isMade] of [
    ["open", true],
    ["own", false],
  ] as const) {
    const service = createService({ configDir: made.at(parent, "svc") });
    await service.addressBook();
    expect([parent, existsSync(made.at(parent, "svc"))]).toEqual([parent, isMade]);
  }
});

test("the account of a user has a name and a home", async () => {
  if (process.platform === "win32") return;
  expect(await accountOf(0)).toMatchObject({ name: "root", gid: 0, home: expect.stringMatching(/^\//) });
  expect(await accountOf(3_999_999_999)).toBeUndefined();
});
