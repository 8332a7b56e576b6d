/**
 * Reading YAML in a child process (`yaml-child.ts`): it takes long for the event loop.
 */
import * as v from "valibot";
import type { Protocol, Remote } from "./child";
import { deadline } from "./deadline";
import { timedOut } from "./errors";
import { silentLog } from "./log";
import { selfCommand } from "./self-command";
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

/** What reads YAML, one text at a time. */
export type YamlReader = Remote<YamlCalls>;

export function createYamlReader(): YamlReader {
  let last: Promise<unknown> = Promise.resolve();
  const inChild = <T>(work: (calls: Remote<YamlCalls>) => Promise<T>): Promise<T> => {
    const answer = last.then(async () => {
      const { startChild } = await import("./child");
      await using child = startChild<YamlCalls>({
        command: selfCommand(["yaml-child"]),
        protocol: PROTOCOL,
        what: "the process that reads YAML",
        log: silentLog,
      });
      const late = () => {
        throw timedOut(`the YAML was not read within ${READ_MS / 1_000} s`);
      };
      return await deadline(work(child.calls()), { ms: READ_MS, late });
    });
    // Each occupies a processor.
    last = answer.catch(() => {});
    return answer;
  };
  return {
    read: (text) => inChild((calls) => calls.read(text)),
    places: (text, pointers) => inChild((calls) => calls.places(text, pointers)),
  };
}
