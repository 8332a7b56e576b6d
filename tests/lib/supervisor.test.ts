/** Notifications to systemd, received on a socket of the test. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findSupervisor } from "../../src/lib/supervisor";
import { temporaryFolder, testWith, until } from "../support";

describe("the supervisor", () => {
  test("that does not exist gets nothing", async () => {
    const env = {};
    const supervisor = await findSupervisor(env);
    supervisor.ready(async () => true);
    supervisor.stopping();
    expect(env).toEqual({});
  });

  testWith("python3")(
    "gets readiness, keep-alives while the server answers, and the end; children do not get its address",
    async () => {
      using folder = temporaryFolder();
      const socket = join(folder.path, "socket");
      const listener = Bun.spawn(
        [
          "python3",
          "-c",
          `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    text = s.recv(200).decode()
    print(text, flush=True)
    if text == "STOPPING=1": break`,
          socket,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const lines = listener.stdout.pipeThrough(new TextDecoderStream()).getReader();
      await lines.read();
      const env: NodeJS.ProcessEnv = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "20000" };
      const supervisor = await findSupervisor(env);
      expect(env).toEqual({});
      let lives = true;
      let asked = 0;
      supervisor.ready(async () => {
        asked++;
        return lives;
      });
      let output = "";
      while (!/READY=1\nWATCHDOG=1\n/.test(output)) output += (await lines.read()).value;
      lives = false;
      const before = asked;
      await until("questions", () => asked > before + 5);
      supervisor.stopping();
      while (!output.endsWith("STOPPING=1\n")) output += (await lines.read()).value;
      expect(await listener.exited).toBe(0);
      expect(output.split("WATCHDOG=1").length - 1).toBeLessThanOrEqual(before);
    },
  );
});
