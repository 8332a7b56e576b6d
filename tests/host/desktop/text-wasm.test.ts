/** Text on the screen, read with tesseract-wasm where the host has no tesseract, and the data that a person adds for it. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { dependencies } from "../../../package.json";
import { decodePng } from "../../../src/host/desktop/images/decode";
import { addData, listData, removeData } from "../../../src/host/desktop/operations/data";
import type { Word } from "../../../src/host/desktop/text/engine";
import { findText } from "../../../src/host/desktop/text/find";
import { addLanguage } from "../../../src/host/desktop/text/language";
import { type Page, pageOf } from "../../../src/host/desktop/text/page";
import { createReader } from "../../../src/host/desktop/text/reader";
import { createWasm, type WasmEngine } from "../../../src/host/desktop/text/wasm";
import {
  addCore,
  CORE_BUILDS,
  CORE_NAME,
  CORE_VERSION,
  coreFile,
} from "../../../src/host/desktop/text/wasm-core";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { nextTurn, temporaryFolder, testWith, until } from "../../support";
import { forever } from "./support";
import { builtFile, englishData, INSTALLED, writePackage } from "./tesseract-wasm";

setDefaultTimeout(120_000);

const picture = decodePng(readFileSync(join(import.meta.dir, "scaled-form.png")), 1_000_000, "picture");
const TEXTS = ["Customer", "City", "Berlin", "Quantity", "Gift wrap", "Submit order"];

describe("the core:", () => {
  test("the builds that are known are those of the version that the binary calls", () => {
    const { version } = JSON.parse(readFileSync(join(INSTALLED, "package.json"), "utf8"));
    expect([version, dependencies["tesseract-wasm"]]).toEqual([CORE_VERSION, CORE_VERSION]);
    for (const { file, digest } of CORE_BUILDS) {
      expect(new Bun.CryptoHasher("sha256").update(builtFile(file)).digest("hex")).toBe(digest);
    }
  });

  test("it says itself that it takes 1 GiB of memory at most", () => {
    for (const { file } of CORE_BUILDS) expect(mostMemory(builtFile(file))).toBe(1_024 ** 3);
  });

  test("it is taken from the package as npm has it, listed, and removed", async () => {
    using folder = temporaryFolder();
    const [file, service] = [join(folder.path, "any-name.tgz"), { configDir: folder.path }];
    await writePackage(file);
    const { bytes } = (await addData.run(service, { name: "ocr-wasm", file }, undefined as never)) as {
      bytes: number;
    };
    const kept = coreFile(join(folder.path, "ocr"));
    const digest = new Bun.CryptoHasher("sha256").update(readFileSync(kept)).digest("hex");
    expect(CORE_BUILDS.map((build) => build.digest)).toContain(digest);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(await listData.run(service, {}, undefined as never)).toEqual({
      data: [{ name: "ocr-wasm", bytes }],
    });
    await removeData.run(service, { name: "ocr-wasm" }, undefined as never);
    expect(await listData.run(service, {}, undefined as never)).toEqual({ data: [] });
    await expect(
      (async () => removeData.run(service, { name: "ocr-wasm" }, undefined as never))(),
    ).rejects.toThrow("there is no data of ocr-wasm");
  });

  test("it is taken by itself too", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "core");
    writeFileSync(file, builtFile("tesseract-core-fallback.wasm"));
    await addCore(folder.path, file);
    expect(readFileSync(coreFile(folder.path)).equals(readFileSync(file))).toBe(true);
  });

  test("anything else is refused with what is wrong with it, and what was there stays", async () => {
    using folder = temporaryFolder();
    const [file, good] = [join(folder.path, "given"), join(folder.path, "good.tgz")];
    await writePackage(good);
    await addCore(folder.path, good);
    const before = readFileSync(coreFile(folder.path));
    const refused = (message: RegExp | string) => expect(addCore(folder.path, file)).rejects.toThrow(message);
    writeFileSync(file, "not at all");
    await refused(
      "file: expected tesseract-wasm-0.11.0.tgz, the package as npm has it, or the tesseract-core.wasm in it, but it is neither",
    );
    const other = Uint8Array.from(before);
    other[other.length - 1] = (other[other.length - 1] ?? 0) ^ 1;
    writeFileSync(file, other);
    await refused(/but it is of another version: its SHA-256 is [0-9a-f]{64}, expected 3822dc6e/);
    await writePackage(file, { "tesseract-core.wasm": other, "tesseract-core-fallback.wasm": other });
    await refused(/but package\/dist\/tesseract-core\S*\.wasm is of another version/);
    await writePackage(file, { "lib.js": builtFile("lib.js") });
    await refused(/but it has no package\/dist\/tesseract-core/);
    writeFileSync(file, readFileSync(good).subarray(0, 100_000));
    await refused("but it cannot be unpacked: it may have been cut off");
    expect(readFileSync(coreFile(folder.path)).equals(before)).toBe(true);
  });

  test("data is that of a language or of tesseract-wasm, by its name", () => {
    const named = (name: string) => v.safeParse(addData.input, { name, file: "/f" }).issues?.[0]?.message;
    expect(["ocr-eng", "ocr-chi_sim", "ocr-wasm"].map(named)).toEqual([undefined, undefined, undefined]);
    expect(named("ocr-wasms")).toBe("ocr- and the name of a language, such as ocr-eng, or ocr-wasm");
    expect(named("wasm")).toBe("ocr- and the name of a language, such as ocr-eng, or ocr-wasm");
  });
});

/** The most memory that a module takes, in bytes (WebAssembly 2.0, 5.5.8: section 5 has the memories). */
function mostMemory(module: Uint8Array): number | undefined {
  let at = 8;
  const next = () => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = module[at++] ?? 0;
      value |= (byte & 127) << shift;
      shift += 7;
      if (byte < 128) return value >>> 0;
    }
  };
  while (at < module.length) {
    const [id, size] = [module[at++], next()];
    if (id !== 5) {
      at += size;
      continue;
    }
    const [count, flags] = [next(), next()];
    next();
    return count === 1 && (flags & 1) === 1 ? next() * 65_536 : undefined;
  }
  return undefined;
}

/** A folder with the core and the data of English, and a reader there of a host without the program. */
async function without(program: () => string | null = () => null, idleMs?: number) {
  const folder = temporaryFolder();
  const file = join(folder.path, "package.tgz");
  await writePackage(file);
  await addCore(folder.path, file);
  await addLanguage(folder.path, "eng", await englishData());
  const options = { folder: folder.path, log: silentLog };
  const wasm = createWasm({ ...options, ...(idleMs !== undefined && { idleMs }) });
  const reader = createReader({ ...options, program, wasm });
  const pages: Page[] = [];
  return {
    ...{ folder: folder.path, wasm, reader, pages },
    read: (language = "eng", requester = forever) =>
      reader.read(
        async (how) => {
          const page = pageOf(picture, 1, how);
          pages.push(page);
          return page;
        },
        language,
        requester,
      ),
    async [Symbol.asyncDispose]() {
      await reader.stop();
      folder[Symbol.dispose]();
    },
  };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("without tesseract on the host:", () => {
  const testReading = testWith("tesseract");

  testReading("what tesseract reads is read, in the same places, with a confidence", async () => {
    await using host = await without();
    const program = createReader({ folder: "/nowhere", log: silentLog });
    const expected = await program.read(async (how) => pageOf(picture, 1, how), "eng", forever);
    const read = await host.read();
    const placeOf = (lines: ReadonlyArray<readonly Word[]>, text: string) => findText(lines, text, true)[0];
    for (const text of TEXTS) {
      const [place, same] = [placeOf(read, text), placeOf(expected, text)];
      expect(place?.text).toBe(same?.text);
      for (const side of ["x", "y", "width", "height"] as const) {
        expect(Math.abs((place?.[side] ?? 0) - (same?.[side] ?? Number.NaN))).toBeLessThanOrEqual(2);
      }
      expect(place?.confidence).toBeWithin(60, 100.1);
    }
    expect(Object.keys(read[0]?.[0] ?? {}).toSorted()).toEqual(
      Object.keys(expected[0]?.[0] ?? {}).toSorted(),
    );
    expect(await host.reader.about()).toEqual({ found: `${CORE_NAME} with eng`, step: undefined });
  });

  testReading(
    "a page that was read is not read again, unless the host has got the program since",
    async () => {
      let path: string | null = null;
      await using host = await without(() => path);
      const first = await host.read();
      expect(await host.read()).toEqual(first);
      path = Bun.which("tesseract");
      await host.read();
      expect(host.pages.map(({ sheets }) => sheets.length > 0)).toEqual([true, false, true]);
    },
  );

  testReading("the processes that read end when there is nothing to read for a while", async () => {
    await using host = await without(undefined, 50);
    await host.read();
    const pids = host.wasm.pids();
    expect(pids.length).toBeGreaterThan(0);
    await until("no process to be left", () => !pids.some(isAlive));
    expect(host.wasm.pids()).toEqual([]);
  });

  testReading("they stay for the next page, and end with the reader", async () => {
    await using host = await without();
    await host.read();
    const pids = host.wasm.pids();
    // Other data of the same language: what was read is read again, by new processes in the place of these.
    copyFileSync(await englishData(), join(host.folder, "deu.traineddata"));
    await host.read("deu");
    expect(host.wasm.pids().length).toBe(pids.length);
    expect(host.wasm.pids()).not.toEqual(pids);
    const all = host.wasm.pids();
    await host.reader.stop();
    expect(all.filter(isAlive)).toEqual([]);
  });

  testReading("a read that is cancelled ends its processes at once, and the next one works", async () => {
    await using host = await without();
    const stop = new AbortController();
    const read = host.read("eng", new Requester(null, stop.signal));
    const failed = read.catch(({ message }) => message);
    await until("a process to read", () => host.wasm.pids().length > 0);
    const pids = host.wasm.pids();
    stop.abort();
    expect(await failed).toBe("cancelled while reading the screen");
    await until("no process to be left", () => !pids.some(isAlive));
    expect(findText(await host.read(), "Customer", true)).toHaveLength(1);
  });

  testReading("a core that is another one by now is not run, and says how to add it", async () => {
    await using host = await without();
    const other = Uint8Array.from(readFileSync(coreFile(host.folder)));
    other[other.length - 1] = (other[other.length - 1] ?? 0) ^ 1;
    writeFileSync(coreFile(host.folder), other);
    await expect(host.read()).rejects.toThrow(
      "the data ocr-wasm is not that of tesseract-wasm 0.11.0 for this machine: `svc data add ocr-wasm tesseract-wasm-0.11.0.tgz`",
    );
    expect(host.wasm.pids()).toEqual([]);
  });

  testReading("data of a language that it cannot use is named", async () => {
    await using host = await without();
    const data = readFileSync(await englishData());
    // The place of the newer recogniser, part 17, for that of the former one, part 3.
    data.writeBigInt64LE(data.readBigInt64LE(4 + 17 * 8), 4 + 3 * 8);
    data.writeBigInt64LE(-1n, 4 + 17 * 8);
    writeFileSync(join(host.folder, "qqq.traineddata"), data);
    await expect(host.read("qqq")).rejects.toThrow(
      "tesseract-wasm 0.11.0 cannot read with the data ocr-qqq (it has no newer recogniser, LSTM): expected that of tessdata_fast or tessdata_best",
    );
  });

  testReading("a language without data is a failure that says how to add it", async () => {
    await using host = await without();
    await expect(host.read("xyz")).rejects.toThrow(
      "tesseract-wasm has no data for xyz: `svc data add ocr-xyz xyz.traineddata`",
    );
  });

  test("a sheet that fails ends the others of its page, and no other page is read before they have ended", async () => {
    using folder = temporaryFolder();
    writeFileSync(coreFile(folder.path), "");
    const started: string[] = [];
    const [aborted, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const wasm: WasmEngine = {
      name: "a stand-in",
      pids: () => [],
      async stop() {},
      async read(sheet, _language, signal) {
        started.push(sheet);
        if (sheet === "bad") throw new Error("it cannot be read");
        if (sheet === "good") return [];
        signal?.addEventListener("abort", () => aborted.resolve());
        await ended.promise;
        throw new Error("it was ended");
      },
    };
    const reader = createReader({ folder: folder.path, log: silentLog, program: () => null, wasm });
    const read = (...sheets: string[]) =>
      reader.read(
        async () => ({
          ...{ x: 0, y: 0, scale: 1, blocks: [] },
          sheets: sheets.map((base64) => ({ base64, blocks: [] })),
        }),
        "eng",
        new Requester("a token"),
      );
    const first = read("slow", "bad").catch(({ message }) => message);
    const second = read("good");
    await aborted.promise;
    for (let turns = 0; turns < 5; turns++) await nextTurn();
    expect(started).toEqual(["slow", "bad"]);
    ended.resolve();
    expect(await first).toBe("it cannot be read");
    expect(await second).toEqual([]);
    expect(started).toEqual(["slow", "bad", "good"]);
  });

  test("without either, a failure says how to get both; without a language, what is missing is named", async () => {
    using folder = temporaryFolder();
    const reader = createReader({ folder: folder.path, log: silentLog, program: () => null });
    const neither =
      "text on the screen cannot be read: this host has neither the program tesseract (Debian: tesseract-ocr) nor tesseract-wasm (`svc data add ocr-wasm tesseract-wasm-0.11.0.tgz`)";
    expect(() => reader.requireEngine()).toThrow(neither);
    await expect(reader.about()).rejects.toThrow(neither);
    const file = join(folder.path, "package.tgz");
    await writePackage(file);
    await addCore(folder.path, file);
    expect(await reader.about()).toEqual({
      found: CORE_NAME,
      step: "add the data of a language: `svc data add ocr-eng eng.traineddata`",
    });
  });
});
