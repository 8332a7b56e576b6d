/** `svc recording` of the compiled binary, as its user reads it. */
import { expect } from "bun:test";
import { join } from "node:path";
import { PROGRAMS, startDisplay } from "../host/desktop/support";
import { BINARY, serveBinary, testWith } from "../support";

testWith(...PROGRAMS)(
  "svc recording prints the file that it writes, then how long it is, and a table of those that are kept",
  async () => {
    await using display = await startDisplay();
    await using server = await serveBinary([], { env: display.env });
    const svc = async (verb: string) => {
      const child = Bun.spawn([BINARY, "recording", verb, "--config-dir", server.configDir], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      return (await child.stdout.text()).trim();
    };
    expect(await svc("list")).toBe("no recordings: `svc recording start` makes one");
    const file = await svc("start");
    expect(file).toStartWith(join(server.configDir, "recordings", "screen-"));
    expect(await svc("list")).toMatch(/^NAME +KiB +TOKEN +STATE\nscreen-\S+\.webm +\d+ +- +recording$/);
    expect(await svc("stop")).toMatch(/^\S+\.webm {2}[\d.]+ s, \d+ pictures?, \d+ KiB$/);
  },
  60_000,
);
