/** The programs that a desk sends to hosts: what is taken, and what is kept. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createReleases } from "../../../src/desk/release/store";
import { publisher, writeIndex } from "../../host/release/support";
import { temporaryFolder } from "../../support";

describe("files are refused", () => {
  test("that are not signed by the key, not binaries, of two versions, or two of one target", async () => {
    using own = publisher();
    using other = publisher();
    const good = await own.file("good");
    const offered = (...paths: string[]) => createReleases(own.folder).offered(paths, own.text);
    await expect(offered(await other.file("bad"))).rejects.toThrow("is signed by the key");
    await expect(offered(await writeIndex(own.folder, own.secret, "0.2.0"))).rejects.toThrow("found none");
    await expect(offered(good, await own.file("newer", "0.3.0", "linux-arm64"))).rejects.toThrow(
      "expected files of one version but found 0.2.0 and 0.3.0",
    );
    await expect(offered(good, await own.file("again"))).rejects.toThrow("found two for linux-x64");
    await expect(offered(join(own.folder, "none"))).rejects.toThrow("cannot be read (ENOENT)");
  });

  test("whose bytes are not those that were signed: nothing of them is kept", async () => {
    using own = publisher();
    const path = await own.file("one");
    writeFileSync(path, "others");
    const store = join(own.folder, "store");
    const [one] = (await createReleases(store).offered([path], own.text)).files;
    await expect(one?.verify()).rejects.toThrow("does not match the file");
    await expect(one?.keep()).rejects.toThrow("does not match the file");
    expect(readdirSync(store)).toEqual([]);
  });
});

test("the folder of a release has the file of each target that is there", async () => {
  using own = publisher();
  for (const target of ["linux-x64", "linux-arm64"]) await own.file(`svc-${target}`, "0.2.0", target);
  const about = { size: 1, sha256: "0".repeat(64) };
  const names = ["linux-x64", "linux-arm64", "windows-x64"].map((one) => [
    one,
    { name: `svc-${one}`, ...about },
  ]);
  await writeIndex(own.folder, own.secret, "0.2.0", { files: Object.fromEntries(names) });
  const { files } = await createReleases(own.folder).offered([own.folder], own.text);
  const targets = files.map(({ target }) => target);
  expect(targets.toSorted()).toEqual(["linux-arm64", "linux-x64"]);
});

test("the store keeps what plans need that are not over, and the newest six", () => {
  using folder = temporaryFolder();
  const store = join(folder.path, "store");
  mkdirSync(store);
  const names = Array.from({ length: 10 }, (_, nth) => `${nth}`.repeat(64));
  for (const [nth, name] of names.entries()) {
    writeFileSync(join(store, name), "");
    utimesSync(join(store, name), nth, nth);
  }
  createReleases(store).removeOthers((sha256) => sha256 === names[0]);
  expect(readdirSync(store).toSorted()).toEqual([names[0] ?? "", ...names.slice(4)]);
});
