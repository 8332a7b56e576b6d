/** A terminal closes, Ctrl-C is pressed in a loop of the shell, a manager sends SIGTERM: svc ends in order, and by the signal. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BINARY, follow, installBinary, serveBinary, testWith, until } from "../support";

test("svc serve finishes what is in flight when its terminal closes, and leaves no run file", async () => {
  await using server = await serveBinary();
  const body = '{"actions":[["AC_sleep",{"seconds":0.5}]]}';
  const answer = server.call("/execute", { method: "POST", body });
  await until("the run", async () => (await (await server.call("/runs")).text()).includes('"running"'));
  // The kernel and the shell both send it.
  for (let nth = 0; nth < 2; nth++) process.kill(server.pid, "SIGHUP");
  expect(await (await answer).json()).toMatchObject({ ok: true });
  await until("its end", () => !existsSync(join(server.configDir, "run", "rest.json")));
});

test("svc execute that started a server leaves no run file when its terminal closes", async () => {
  using machine = installBinary();
  const actions = '[["AC_rest_api_start",{"port":0}],["AC_sleep",[60]]]';
  const child = Bun.spawn(["./svc", "execute", actions, "--config-dir", "config"], {
    cwd: machine.path,
    stdio: ["ignore", "ignore", "ignore"],
  });
  const runFile = join(machine.configDir, "run", "rest.json");
  await until("the server", () => existsSync(runFile));
  child.kill("SIGHUP");
  await child.exited;
  expect([child.signalCode, existsSync(runFile)]).toEqual(["SIGHUP", false]);
});

testWith("nohup")("svc serve under nohup goes on when its terminal closes", async () => {
  using machine = installBinary();
  const child = Bun.spawn(["nohup", "./svc", "serve", "--port", "0", "--json", "--config-dir", "config"], {
    cwd: machine.path,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const said = follow(child.stdout);
  await said.says("\n");
  child.kill("SIGHUP");
  expect((await fetch(`${JSON.parse(said.text()).url}/health`)).status).toBe(200);
  child.kill();
  await child.exited;
  expect(child.signalCode).toBe("SIGTERM");
});

const RESIDENT: ReadonlyArray<readonly [name: string, words: string[], says: string]> = [
  ["serve", ["serve", "--port", "0"], "answers at"],
  ["execute", ["execute", '[["AC_sleep",[60]]]'], ""],
  ["execute -", ["execute", "-"], ""],
  ["admin poll --watch", ["admin", "poll", "--watch"], "\n"],
  ["usb watch", ["usb", "watch"], "Ctrl-C ends it"],
];

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test.each(RESIDENT)(`svc %s dies of ${signal}`, async (_name, words, says) => {
    using machine = installBinary();
    const child = Bun.spawn(["./svc", ...words, "--config-dir", "config"], {
      cwd: machine.path,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const [out, err] = [follow(child.stdout), follow(child.stderr)];
    if (says !== "") await Promise.any([out.says(says), err.says(says)]);
    child.kill(signal);
    await child.exited;
    expect(child.signalCode).toBe(signal);
  });
}

testWith("script").each([
  ["serve", "serve --port 0", "answers at"],
  ["a prompt", "admin add lab http://127.0.0.1:9", "token"],
])("Ctrl-C on a terminal ends %s, and the loop of the shell around it", async (_name, line, says) => {
  using machine = installBinary();
  const loop = `for each in 1 2; do ${BINARY} ${line}; done; echo finished > finished`;
  const child = Bun.spawn(["script", "-qec", `bash -c '${loop}'`, "/dev/null"], {
    cwd: machine.path,
    env: { ...process.env, SVC_CONFIG_DIR: "config" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const said = follow(child.stdout);
  await said.says(says);
  child.stdin.write("\x03");
  child.stdin.flush();
  await child.exited;
  expect(existsSync(join(machine.path, "finished"))).toBe(false);
});
