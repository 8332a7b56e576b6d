/** `svc events` and `--watch` as the compiled binary: a desk, two hosts, and a host that dies. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, post, serveBinary, TOKEN, until } from "../support";

/** A program of the machine, and the whole lines that it has printed. */
function start(machine: { readonly path: string; readonly configDir: string }, ...args: string[]) {
  const child = Bun.spawn(["./svc", ...args], {
    cwd: machine.path,
    env: { ...process.env, SVC_CONFIG_DIR: machine.configDir },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  const read = async (name: "stdout" | "stderr") => {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) printed[name] += text;
  };
  void Promise.all([read("stdout"), read("stderr")]);
  return {
    child,
    lines: () => printed.stdout.split("\n").slice(0, -1),
    said: () => printed.stderr,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

const sleeps = { actions: [["AC_sleep", [0]]] };

test("a desk follows its hosts: one that dies is said, and followed again when it is back", async () => {
  await using one = await serveBinary(["--rate-limit", "0"]);
  const port = `${18_000 + Math.floor(Math.random() * 10_000)}`;
  const two = await serveBinary(["--rate-limit", "0", "--port", port]);
  using machine = installBinary();
  const hosts = [one, two].map(({ url }, nth) => ({
    ...{ label: `lab-${nth + 1}`, base_url: url, token: TOKEN, tags: [] },
  }));
  const file = join(machine.path, "hosts.json");
  writeFileSync(file, JSON.stringify({ hosts }));
  expect((await machine.run(["admin", "import", file])).exitCode).toBe(0);
  await using events = start(machine, "events", "--follow", "--on", "all", "--types", "run.*", "--json");
  await using watched = start(machine, "admin", "poll", "--watch", "--interval", "1h", "--json");
  const seen = () => events.lines().map((line) => JSON.parse(line));
  const ends = (label: string) =>
    seen().filter((event) => event.label === label && event.type === "run.ended").length;
  const untilEnded = async (host: typeof one, label: string) => {
    const before = ends(label);
    // The stream may not have begun yet.
    await until(`a run of ${label} is printed`, async () => {
      await host.call("/execute", post(sleeps));
      return ends(label) > before;
    });
  };
  const polled = () => (watched.lines().at(-1) ?? "[]") as string;
  const isHealthy = (label: string) =>
    JSON.parse(polled()).find((result: { label: string }) => result.label === label)?.healthy;
  await untilEnded(one, "lab-1");
  await untilEnded(two, "lab-2");
  await until("both hosts are polled", () => isHealthy("lab-1") && isHealthy("lab-2"));

  process.kill(two.pid, "SIGKILL");
  await until("its end is said", () => events.said().includes("lab-2: "));
  await until("the poll shows it", () => isHealthy("lab-2") === false);
  expect(isHealthy("lab-1")).toBe(true);
  await untilEnded(one, "lab-1");
  await two[Symbol.asyncDispose]();

  await using again = await serveBinary(["--rate-limit", "0", "--port", port]);
  await until("it is followed again", () => events.said().includes("lab-2: followed again"));
  expect(seen().filter(({ type }) => type === "reset")).toMatchObject([{ label: "lab-2" }]);
  await untilEnded(again, "lab-2");
  await until("the poll shows it again", () => isHealthy("lab-2"));
  expect(new Set(seen().map(({ label, id }) => `${label} ${id}`)).size).toBe(seen().length);

  const [eventsEnd, watchedEnd] = [events, watched].map(({ child }) => {
    child.kill("SIGINT");
    return child.exited;
  });
  expect(await eventsEnd).toBe(130);
  expect(await watchedEnd).toBe(130);
}, 120_000);

test("what commands do beside a server is among its events, and `svc events` prints them", async () => {
  using machine = installBinary();
  mkdirSync(machine.configDir, { recursive: true });
  const server = start(machine, "serve", "--port", "0", "--json");
  await using _ = server;
  await until("the server is up", () => server.lines().length > 0);
  const script = join(machine.path, "script.json");
  writeFileSync(script, JSON.stringify(sleeps.actions));
  for (const args of [
    ["execute", script],
    ["jobs", "add", script, "--every", "1h", "--id", "hourly"],
    ["token", "add", "anna", "--scope", "read"],
    ["admin", "add", "lab", "http://127.0.0.1:1", "--token-file", join(machine.configDir, "rest_token")],
  ])
    expect({ args, exitCode: (await machine.run(args)).exitCode }).toEqual({ args, exitCode: 0 });
  const { stdout, stderr, exitCode } = await machine.run(["events", "--types", "run.*,job.*,token.*,host.*"]);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  const types = stdout.split("\n").map((line) => line.split("  ")[1]?.trim());
  expect(types.filter((type) => type !== undefined)).toEqual([
    ...["run.started", "run.step", "run.ended", "job.added", "token.added", "host.added"],
  ]);
  expect(stdout).not.toContain("svct_");
  const wrong = await machine.run(["events", "--types", "nothing"]);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('types: no type "nothing"') });
}, 60_000);
