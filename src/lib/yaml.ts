/**
 * Reading YAML in a child process (`yaml-child.ts`): it takes long for the event loop.
 *
 * Promises. Tokens have one such process at a time, and the owner of the host has one of its own (`slots.ts`). Where a requester
 * goes, its process ends.
 */
import * as v from "valibot";
import type { Protocol, Remote } from "./child";
import { deadline } from "./deadline";
import { cancelled, timedOut } from "./errors";
import { silentLog } from "./log";
import { selfCommand } from "./self-command";
import { createSlots, type Requester } from "./slots";
import type { YamlCalls } from "./yaml-child";

/** The longest text that is read, in characters: the library takes seconds for more. */
export const MAX_YAML = 256 * 1024;

/** How long it may take, in milliseconds. */
const READ_MS = 30_000;

const COUNT = v.pipe(v.number(), v.integer(), v.minValue(1));
const PLACE = { line: COUNT, column: COUNT };

const PROTOCOL: Protocol<YamlCalls> = {
  answers: {
    read: v.union([
      v.object({ value: v.unknown() }),
      v.object({ fault: v.object({ ...PLACE, expected: v.pipe(v.string(), v.maxLength(200)) }) }),
    ]),
    places: v.array(v.object(PLACE)),
  },
  events: {},
};

/** How many texts of tokens may wait: each is in memory meanwhile. */
const MAX_WAITING = 64;

/** What reads YAML for those who ask. @throws also `unavailable` where too many texts wait; `cancelled` once the requester is gone. */
export type YamlReader = Remote<YamlCalls, [requester: Requester]>;

export function createYamlReader(): YamlReader {
  // Each process occupies a processor.
  const slots = createSlots({ most: 1, ownersOwn: 1, what: "texts in YAML", mostWaiting: MAX_WAITING });
  const inChild = <T>(requester: Requester, work: (calls: Remote<YamlCalls>) => Promise<T>): Promise<T> =>
    slots.run(requester, async () => {
      const { startChild } = await import("./child");
      await using child = startChild<YamlCalls>({
        command: selfCommand(["yaml-child"]),
        protocol: PROTOCOL,
        what: "the process that reads YAML",
        log: silentLog,
      });
      const late = () => timedOut(`the YAML was not read within ${READ_MS / 1_000} s`);
      const aborted = () => cancelled("cancelled while the YAML was read");
      return await deadline(work(child.calls()), { ms: READ_MS, late, signal: requester.signal, aborted });
    });
  return {
    read: (text, requester) => inChild(requester, (calls) => calls.read(text)),
    places: (text, pointers, requester) => inChild(requester, (calls) => calls.places(text, pointers)),
  };
}
