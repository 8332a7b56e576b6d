import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { isLocked, tryLock } from "../../src/lib/lock";
import { ownForChange, ownForLife } from "../../src/lib/ownership";
import { configFiles } from "../../src/lib/paths";
import { nextTurn, temporaryFolder } from "../support";

describe("a folder", () => {
  test("is owned for the time of a change, by one process after the other", async () => {
    using folder = temporaryFolder();
    const order: string[] = [];
    const change = (name: string) =>
      ownForChange(folder.path, name, async () => {
        order.push(`${name} begins`);
        await nextTurn();
        order.push(`${name} ends`);
        return name;
      });
    expect(await Promise.all([change("a"), change("b")])).toEqual([{ value: "a" }, { value: "b" }]);
    expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
    expect(isLocked(configFiles(folder.path).ownerLock)).toBe(false);
  });

  test("is free again after a change that failed", async () => {
    using folder = temporaryFolder();
    const fails = ownForChange(folder.path, "jobs.add", () => Promise.reject(new Error("no")));
    await expect(fails).rejects.toThrow("no");
    expect(isLocked(configFiles(folder.path).ownerLock)).toBe(false);
  });

  test("goes to a server once the change has ended", async () => {
    using folder = temporaryFolder();
    const ends = Promise.withResolvers<void>();
    const changing = ownForChange(folder.path, "jobs.add", () => ends.promise);
    const owning = ownForLife(folder.path);
    expect(await Promise.race([owning, nextTurn().then(() => "waits")])).toBe("waits");
    ends.resolve();
    const leave = await owning;
    await changing;
    expect(isLocked(configFiles(folder.path).ownerLock)).toBe(true);
    leave();
  });

  test("whose owner does not leave it is refused, and the message names the owner", async () => {
    using folder = temporaryFolder();
    const ends = Promise.withResolvers<void>();
    const changing = ownForChange(folder.path, "jobs.add", () => ends.promise);
    const words = `jobs.add (pid ${process.pid}) has owned ${folder.path} for 0.02 s: try again when it has ended`;
    await expect(ownForLife(folder.path, 20)).rejects.toMatchObject({ code: "conflict", message: words });
    const other = ownForChange(folder.path, "jobs.remove", async () => {}, 20);
    await expect(other).rejects.toMatchObject({ code: "conflict", message: words });
    ends.resolve();
    await changing;
  });

  test("that a server has got meanwhile is not changed: the server is to be asked", async () => {
    using folder = temporaryFolder();
    const { ownerFile, serveLock, runFolder } = configFiles(folder.path);
    mkdirSync(runFolder);
    const serve = tryLock(serveLock);
    const leave = await ownForLife(folder.path);
    let isChanged = false;
    const changing = ownForChange(folder.path, "jobs.add", async () => {
      isChanged = true;
    });
    writeFileSync(ownerFile, "{}");
    expect(await changing).toBeUndefined();
    expect(isChanged).toBe(false);
    leave();
    serve?.();
  });

  test("with what a killed server left is changed all the same", async () => {
    using folder = temporaryFolder();
    const { ownerFile, runFolder } = configFiles(folder.path);
    mkdirSync(runFolder);
    writeFileSync(ownerFile, "{}");
    expect(await ownForChange(folder.path, "jobs.add", async () => 1)).toEqual({ value: 1 });
    expect(existsSync(ownerFile)).toBe(true);
  });
});
