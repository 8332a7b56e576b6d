/**
 * Reading a picture with tesseract-wasm, where the host has no tesseract and a person has added the core as data: in child processes of
 * svc, one for each sheet that is read at the same time. The first sheet starts one, and it ends when it has read none for a while.
 *
 * Promise: WebAssembly that does not end, takes more memory than it may (1 GiB, which the core itself says) or fails ends its process and
 * fails the sheet that it read, and nothing else.
 */
import { existsSync } from "node:fs";
import { setPriority } from "node:os";
import * as v from "valibot";
import { type Child, type Protocol, startChild } from "../../../lib/child";
import { bareEnvironment } from "../../../lib/confine";
import { unavailable } from "../../../lib/errors";
import { fileStamp } from "../../../lib/files";
import type { Log } from "../../../lib/log";
import { selfCommand } from "../../../lib/self-command";
import { type Engine, NICENESS, notRead, READ_MS, type SheetWord } from "./engine";
import { dataFile } from "./language";
import { CORE_NAME, coreFile } from "./wasm-core";

/** What the child does. */
export interface TextCalls {
  /**
   * As `Engine` has it.
   *
   * @param core the file of the core. @param data the file with the data of the language; both are those of the first call.
   * @throws `unavailable` where one of them is not what it has to be.
   */
  read(core: string, data: string, base64: string): Promise<SheetWord[]>;
}

const PROTOCOL: Protocol<TextCalls> = {
  answers: {
    read: v.array(
      v.object({
        line: v.string(),
        text: v.string(),
        x: v.number(),
        y: v.number(),
        width: v.number(),
        height: v.number(),
        confidence: v.number(),
      }),
    ),
  },
  events: {},
};

/** How long a child stays that reads nothing, in milliseconds: the first sheet of a new one takes longer. */
const IDLE_MS = 60_000;

/** A child that has read, and what it reads with: the core and the data of one language. */
interface Helper {
  readonly with: string;
  readonly child: Child<TextCalls>;
  /** Ends it. */
  idle?: Timer;
}

/** How tesseract-wasm is used. */
export interface WasmOptions {
  /** Where the core and the data of languages are. */
  readonly folder: string;
  readonly log: Log;
  /** The command line of a child (default: svc's own). */
  readonly command?: readonly string[];
  /** How long a child stays that reads nothing, in milliseconds (default 60,000). */
  readonly idleMs?: number;
}

/** Reads with tesseract-wasm. */
export interface WasmEngine extends Engine {
  /** The process ids of the children that read, or wait for more to read. */
  pids(): number[];
  /** Ends the children; what they read fails. */
  stop(): Promise<void>;
}

export function createWasm(options: WasmOptions): WasmEngine {
  const { folder, log, command = selfCommand(["text-child"]), idleMs = IDLE_MS } = options;
  const running = new Set<Helper>();
  const waiting = new Set<Helper>();
  const end = async (helper: Helper) => {
    clearTimeout(helper.idle);
    running.delete(helper);
    waiting.delete(helper);
    await helper.child.kill();
  };
  const start = (from: string): Helper => {
    const what = "the process that reads text with tesseract-wasm";
    const child = startChild<TextCalls>({ command, what, log, env: bareEnvironment(), protocol: PROTOCOL });
    try {
      setPriority(child.pid, NICENESS);
    } catch {
      // It has ended.
    }
    return { with: from, child };
  };
  /** One that reads with these files. Of those that wait, one of another language makes room for a new one. */
  const take = (from: string): Helper => {
    const idle = [...waiting].filter(({ child }) => !child.ended());
    const found = idle.find((one) => one.with === from);
    if (!found && idle[0]) void end(idle[0]);
    const helper = found ?? start(from);
    clearTimeout(helper.idle);
    waiting.delete(helper);
    running.add(helper);
    return helper;
  };
  const keep = (helper: Helper) => {
    running.delete(helper);
    waiting.add(helper);
    helper.idle = setTimeout(() => end(helper), idleMs);
    helper.idle.unref();
  };
  return {
    name: CORE_NAME,
    pids: () => [...running, ...waiting].map(({ child }) => child.pid),
    async read(base64, language, signal) {
      if (signal?.aborted) throw notRead();
      const [core, data] = [coreFile(folder), dataFile(folder, language)];
      if (!existsSync(data)) {
        throw unavailable(
          `tesseract-wasm has no data for ${language}: \`svc data add ocr-${language} ${language}.traineddata\``,
        );
      }
      const helper = take([core, data].map((file) => `${file} ${fileStamp(file)}`).join("\n"));
      const abort = () => void helper.child.kill();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        const words = await helper.child.calls(READ_MS).read(core, data, base64);
        keep(helper);
        return words;
      } catch (error) {
        await end(helper);
        throw signal?.aborted ? notRead() : error;
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
    async stop() {
      await Promise.all([...running, ...waiting].map(end));
    },
  };
}
