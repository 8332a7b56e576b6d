/** The server of a test of stalls, in a process of its own that says how long it stood still. */
import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import type { StallMessage, StallQuestion } from "./host";

/** Such a server for the tests of a file, to call at its top level. @param hosts how many are in its address book (default: none). */
export function useStallHost(hosts?: number) {
  let child: Bun.Subprocess;
  let server: StallMessage = {};
  let next = Promise.withResolvers<StallMessage>();
  const answer = async (): Promise<StallMessage> => {
    const message = await next.promise;
    next = Promise.withResolvers();
    return message;
  };
  beforeAll(async () => {
    const program = [process.execPath, join(import.meta.dir, "host.ts")];
    child = Bun.spawn([...program, ...(hosts === undefined ? [] : [`${hosts}`])], {
      ipc: (message: StallMessage) => next.resolve(message),
      stdio: ["ignore", "inherit", "inherit"],
    });
    server = await answer();
  });
  afterAll(async () => {
    child.disconnect();
    await child.exited;
  });
  return {
    /** What it said when it was ready. */
    said: () => server,
    pid: () => child.pid,
    /** @returns what it answers, in milliseconds. */
    async ask(question: StallQuestion): Promise<number> {
      child.send(question);
      return (await answer()).ms ?? Number.NaN;
    },
  };
}
