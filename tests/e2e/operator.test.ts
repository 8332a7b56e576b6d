/**
 * The day of an operator with three hosts and a desk, with the compiled binary: one host starts with a wrong token, one is
 * down for a while, none has a desktop; the book goes to a second desk, and in the end nothing of it is left.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary } from "../support";

/** The headings of a poll, then a line for each host: its label, state and error. */
const statesIn = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .slice(1, -1)
    .map((line) => line.split(/ {2,}/))
    .map(([label, state, ...rest]) => [label, state, rest.at(-1)]);

test("three hosts are added, given the right token, rotated, asked, missed, commanded, moved, proven and removed", async () => {
  using machine = installBinary();
  await using servers = new AsyncDisposableStack();
  const env = { HOME: machine.path, SVC_TOKEN: undefined, DISPLAY: undefined, WAYLAND_DISPLAY: undefined };
  /** Runs `svc args` with the folder of `who`, which is given `stdin` to read. */
  const as = async (who: string, args: string[], stdin = "/dev/null") => {
    const before = ["sh", "-c", 'exec "$@" < "$0"', stdin];
    return machine.run(args, { before, env: { ...env, SVC_CONFIG_DIR: who } });
  };
  /** What it printed, which must be good and without a complaint. */
  const good = async (who: string, args: string[], stdin?: string) => {
    const { stdout, stderr, exitCode } = await as(who, args, stdin);
    expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: "" });
    return stdout;
  };
  const serve = async (name: string, port = "0") => {
    const child = Bun.spawn(["./svc", "serve", "--json", "--port", port, "--config-dir", name], {
      cwd: machine.path,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const stop = async () => {
      child.kill();
      await child.exited;
    };
    servers.defer(stop);
    const { value } = await child.stdout.getReader().read();
    const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
    return { url, stop };
  };
  const tokenOf = (name: string) => join(machine.path, name, "rest_token");
  const hosts = await Promise.all(["lab-1", "lab-2", "lab-3"].map((name) => serve(name)));
  const [url1 = "", url2 = "", url3 = ""] = hosts.map(({ url }) => url);

  // The third gets the token of the second by mistake.
  await good("desk", ["admin", "add", "lab-1", url1, "--tag", "lab"], tokenOf("lab-1"));
  await good("desk", ["admin", "add", "lab-2", url2, "--tag", "lab,floor-2"], tokenOf("lab-2"));
  await good("desk", ["admin", "add", "lab-3", url3], tokenOf("lab-2"));
  expect(await as("desk", ["admin", "add", "lab-3", url3], tokenOf("lab-3"))).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "svc: label: taken already: lab-3 (`svc admin set` changes a host, and --replace (`replace`) puts this one in its place)\n",
  });
  const first = await as("desk", ["admin", "poll"]);
  expect([first.exitCode, statesIn(first.stdout)]).toEqual([
    1,
    [
      ["lab-1", "healthy", "-"],
      ["lab-2", "healthy", "-"],
      ["lab-3", "DOWN", "HTTP 401"],
    ],
  ]);
  const refused = await as("desk", ["audit", "verify", "--on", "lab-3"]);
  expect(refused).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      "[warn] lab-3: HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks) (svc help T15)\n",
  });
  await good("desk", ["admin", "set", "lab-3", "--tag", "lab", "--token-file", "-"], tokenOf("lab-3"));
  expect(await good("desk", ["admin", "tag", "lab-3"])).toMatch(/^lab-3 .* lab +this machine +-$/m);
  expect(await good("desk", ["admin", "poll", "--on", "tag:lab"])).toEndWith("3 of 3 healthy\n");

  // A new token, there and here; what still has the old one is not cut off.
  const old = readFileSync(tokenOf("lab-1"), "utf8");
  expect(await good("desk", ["admin", "rotate", "lab-1"])).toMatch(
    /^lab-1: the host's own token is replaced; old ones work until \S+\n$/,
  );
  expect(readFileSync(tokenOf("lab-1"), "utf8")).not.toBe(old);
  await good("desk", ["admin", "poll", "--on", "lab-1"]);
  const withOld = { headers: { authorization: `Bearer ${old.trim()}` } };
  expect((await fetch(`${url1}/jobs`, withOld)).status).toBe(200);

  // One host is down: it is named everywhere, and the others answer.
  await hosts[1]?.stop();
  const down = await as("desk", ["admin", "poll"]);
  expect([down.exitCode, statesIn(down.stdout)[1]]).toEqual([1, ["lab-2", "DOWN", "connection refused"]]);
  const actions = '[["AC_set_var", {"name": "shift", "value": "night"}]]';
  const broadcast = ["admin", "broadcast", actions, "--on", "tag:lab", "--output", "night.jsonl"];
  const partly = await as("desk", broadcast);
  expect(partly.exitCode).toBe(1);
  expect(partly.stdout).toMatch(/^unreachable .* lab-2 {2}connection refused$/m);
  expect(partly.stdout).toEndWith("3 hosts: 2 ok, 1 unreachable\n");
  await serve("lab-2", new URL(url2).port);
  expect(await good("desk", ["admin", "broadcast", actions, "--retry", "night.jsonl"])).toMatch(
    /^ok .* lab-2 .*\n1 host: 1 ok\n$/s,
  );

  // No host has a desktop, on purpose: each is told so once, and is fit then.
  const unfit = await as("desk", ["diagnose", "--on", "all"]);
  expect(unfit.exitCode).toBe(1);
  expect(unfit.stdout).toMatch(/^lab-3 {2}screenshot +FAIL +no display/m);
  for (const name of ["lab-1", "lab-2", "lab-3"]) {
    await good(name, ["config", "set", "diagnose.skip", "screenshot,mouse"]);
  }
  expect(await good("desk", ["diagnose", "--on", "all"])).not.toMatch(/screenshot|FAIL/);

  // The second desk has an entry of its own, which stays; the rest is merged into its book, after a look at what changes.
  const unsealed =
    "[warn] the bundle is not encrypted, and may have tokens and keys: --encrypt asks for a passphrase\n";
  expect(await as("desk", ["config", "export", "desk.json"])).toMatchObject({
    exitCode: 0,
    stderr: unsealed,
  });
  await good("second", ["admin", "add", "lab-1", url1, "--tag", "mine"], tokenOf("lab-1"));
  const merge = (...flags: string[]) => as("second", ["config", "import", "desk.json", "--merge", ...flags]);
  const stays = "[warn] lab-1: the entry here stays; the bundle has another\n";
  const look = await merge("--dry-run", "--exit-code");
  expect([look.exitCode, look.stderr]).toEqual([3, stays]);
  expect(look.stdout).toEndWith("dry run: nothing was written\n");
  expect(look.stdout).not.toContain(readFileSync(tokenOf("lab-2"), "utf8").trim());
  expect((await merge()).exitCode).toBe(0);
  expect(await merge("--dry-run", "--exit-code")).toMatchObject({ exitCode: 0, stderr: stays });
  expect(await good("second", ["admin", "tag", "lab-1"])).toMatch(/ mine {2}this machine +-$/m);
  expect(await good("second", ["admin", "poll"])).toEndWith("3 of 3 healthy\n");

  // What happened is on record, on every host and on the desk, and whole.
  const verified = await good("desk", ["audit", "verify", "--on", "all"]);
  expect(verified.match(/^lab-\d {2}OK /gm)).toHaveLength(3);
  expect(await good("desk", ["audit", "verify"])).toMatch(/^Chain OK/);
  expect(await good("desk", ["audit", "list", "--on", "lab-2"])).toContain(
    "POST /plans/jobs -> ok:200 plan=",
  );

  for (const name of ["lab-1", "lab-2", "lab-3"]) await good("desk", ["admin", "remove", name]);
  expect(await as("desk", ["admin", "remove", "lab-3"])).toMatchObject({ exitCode: 1 });
  expect(await good("desk", ["admin", "poll"])).toBe("no hosts: `svc admin add` adds one\n");
}, 180_000);
