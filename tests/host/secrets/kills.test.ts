/** `svc secret set` and `remove` that are killed at any moment: what was acknowledged is there, and the file is whole. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createSecrets } from "../../../src/host/secrets/secrets";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { SVC, temporaryFolder } from "../../support";

const KILLS = 24;

test("a secret that is set or removed under kill -9 is as before or as asked, and the others are as they were", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const store = () =>
    createSecrets(
      { file: files.secrets, lock: files.secretsLock, key: files.secretsKey },
      silentLog,
      undefined,
    );
  await store().set("kept", "the-value-that-stays", null);
  /** The values that each may have: more than one after a kill. */
  const may = new Map<string, Set<string | undefined>>([["kept", new Set(["the-value-that-stays"])]]);
  /** Runs it, and kills it after so many milliseconds. @returns whether it has said that it is done. */
  const run = async (words: readonly string[], ms: number, value = "") => {
    const child = Bun.spawn([...SVC, "secret", ...words], {
      env: { ...process.env, SVC_CONFIG_DIR: folder.path },
      stdio: [new Blob([value]), "ignore", "ignore"],
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), ms);
    const code = await child.exited;
    clearTimeout(timer);
    return code === 0;
  };
  const began = performance.now();
  expect(await run(["set", "other"], 60_000, "the-first-value")).toBe(true);
  const usual = performance.now() - began;
  may.set("other", new Set(["the-first-value"]));
  for (let nth = 0; nth < KILLS; nth++) {
    // The change is near the end.
    const ms = usual * (0.6 + Math.random() * 0.5);
    const isSet = nth % 3 !== 2;
    const wanted = isSet ? `the-value-${nth}` : undefined;
    const isDone = await run(isSet ? ["set", "other"] : ["remove", "other"], ms, wanted);
    const before = may.get("other") ?? new Set();
    may.set("other", new Set(isDone ? [wanted] : [...before, wanted]));
    const now = store();
    const names = now.list().map(({ name }) => name);
    for (const [name, values] of may) {
      const value = names.includes(name) ? (await now.read([name])).get(name) : undefined;
      expect([nth, name, values.has(value)]).toEqual([nth, name, true]);
    }
    may.set(
      "other",
      new Set([names.includes("other") ? (await now.read(["other"])).get("other") : undefined]),
    );
  }
  expect(readdirSync(folder.path).filter((name) => name.includes(".broken-"))).toEqual([]);
}, 240_000);

test("a file that was written by half is refused as it is, and nothing in it is lost once it is restored", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const store = createSecrets(
    { file: files.secrets, lock: files.secretsLock, key: files.secretsKey },
    silentLog,
    undefined,
  );
  for (let nth = 0; nth < 5; nth++) await store.set(`s${nth}`, `value-${nth}`, null);
  const whole = readFileSync(files.secrets);
  for (let at = 0; at < whole.length - 2; at += 97) {
    writeFileSync(files.secrets, whole.subarray(0, at));
    expect(() => store.list()).toThrow(/secrets\.json/);
    await expect(store.set("s9", "value-9", null)).rejects.toMatchObject({ code: "unavailable" });
    expect(readFileSync(files.secrets).length).toBe(at);
  }
  writeFileSync(files.secrets, whole);
  expect(await store.read(["s0", "s4"])).toEqual(
    new Map([
      ["s0", "value-0"],
      ["s4", "value-4"],
    ]),
  );
});
