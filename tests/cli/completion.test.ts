import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Language, Parser } from "web-tree-sitter";
import { registry } from "../../commands";
import { namesHere } from "../../src/cli/completed-names";
import { complete, scripts } from "../../src/cli/completion";
import { loginsIn } from "../../src/cli/elsewhere/logins";
import type { Description } from "../../src/cli/subcommand";
import { silentLog } from "../../src/lib/log";
import { post, TOKEN, temporaryFolder, testServer } from "../support";

const offered = async (...words: string[]) => (await complete(registry, words)).map(([text]) => text);

describe("completing", () => {
  test("an empty line offers every subcommand, with what it does", async () => {
    expect(await complete(registry, [""])).toContainEqual(["serve", "Run the REST server"]);
    expect(await offered("exe")).toEqual(["execute"]);
  });

  test("a subcommand of its own kind offers those below it", async () => {
    expect(await offered("audit", "ver")).toEqual(["verify-proof", "verify-run", "verify", "verify-fork"]);
    expect(await offered("token", "")).toEqual(["show", "rotate", "add", "list", "remove"]);
  });

  test("a dash offers flags, those of the subcommand first", async () => {
    expect(await offered("serve", "--to")).toEqual(["--token-file"]);
    const flags = await offered("audit", "list", "--");
    expect(flags.indexOf("--event-type")).toBeLessThan(flags.indexOf("--json"));
    expect(await offered("audit", "--h")).toEqual(["--help"]);
    expect(await offered("--v")).toEqual(["--version"]);
  });

  test("where anything goes, nothing is offered: the shell then offers paths", async () => {
    expect(await offered("execute", "")).toEqual([]);
    expect(await offered("serve", "--token-file", "")).toEqual([]);
    expect(await offered("nope", "")).toEqual([]);
    expect(await offered("token", "show", "")).toEqual([]);
  });

  test("a flag before the subcommand does not hide it", async () => {
    expect(await offered("--json", "audit", "ver")).toEqual([
      "verify-proof",
      "verify-run",
      "verify",
      "verify-fork",
    ]);
    expect(await offered("--config-dir", "there", "audit", "ver")).toEqual([
      "verify-proof",
      "verify-run",
      "verify",
      "verify-fork",
    ]);
  });

  test("the value of a flag is no argument", async () => {
    expect(await offered("token", "--config-dir", "")).toEqual([]);
    expect(await offered("token", "--config-dir", "there", "")).toEqual([
      "show",
      "rotate",
      "add",
      "list",
      "remove",
    ]);
    expect(await offered("turn", "--realm", "relay.test", "")).toEqual(["credentials", "test"]);
  });
});

describe("names that are there", () => {
  const names: Readonly<Record<string, readonly Description[]>> = {
    selection: [
      ["lab-01", "http://lab-01:9939"],
      ["lab-02", ""],
      ["tag:lab", "tag"],
      ["all", "every host"],
    ],
    label: [["lab-01", ""]],
    tags: [["floor-9", "tag"]],
    desk: [["lab", "https://desk.lab:9939"]],
    plan: [["5f0c", "nightly running"]],
    run: [["77aa", "ok"]],
  };
  const following = async (...words: string[]) =>
    (await complete(registry, words, async (kind) => names[kind] ?? [])).map(([text]) => text);

  test("are offered for a selection, also after a comma and for what it leaves out", async () => {
    expect(await following("usb", "list", "--on", "")).toEqual(["lab-01", "lab-02", "tag:lab", "all"]);
    expect(await following("usb", "list", "--on", "tag")).toEqual(["tag:lab"]);
    expect(await following("usb", "list", "--on", "tag:lab,!lab-0")).toEqual([
      "tag:lab,!lab-01",
      "tag:lab,!lab-02",
    ]);
    expect(await following("usb", "list", "--on", "lab-01,la")).toEqual(["lab-01,lab-02"]);
    expect(await following("usb", "list", "--on=lab-02")).toEqual(["--on=lab-02"]);
  });

  test("are offered for labels, tags, and ids of plans and runs", async () => {
    expect(await following("admin", "set", "")).toEqual(["lab-01"]);
    expect(await following("admin", "add", "")).toEqual([]);
    expect(await following("admin", "set", "lab-01", "--tag", "")).toEqual(["floor-9"]);
    expect(await following("plan", "show", "5")).toEqual(["5f0c"]);
    expect(await following("plan", "new", "")).toEqual([]);
    expect(await following("runs", "show", "7")).toEqual(["77aa"]);
    expect(await following("trace", "get", "")).toEqual(["77aa"]);
  });

  test("are offered after one letter as after the flag that it stands for", async () => {
    expect(await following("usb", "list", "-H", "lab-02")).toEqual(["lab-02"]);
    expect(await following("runs", "show", "-H", "lab-02", "7")).toEqual(["77aa"]);
    expect(await following("runs", "show", "-Hlab-02", "7")).toEqual(["77aa"]);
  });

  test("are offered for tags with the sign that says what becomes of them", async () => {
    for (const sign of ["", "+", "-", "="])
      expect(await following("admin", "tag", "lab-01", `${sign}fl`)).toEqual([`${sign}floor-9`]);
    expect(await following("admin", "tag", "lab-01", "--cl")).toEqual(["--clear"]);
  });

  test("are offered for desks elsewhere", async () => {
    expect(await following("--desk", "")).toEqual(["lab"]);
    expect(await following("admin", "list", "--desk=l")).toEqual(["--desk=lab"]);
    expect(await following("logout", "")).toEqual(["lab"]);
  });

  test("are those of the desk elsewhere that answers", async () => {
    await using desk = await testServer({ tls: true });
    using folder = temporaryFolder();
    const entry = { label: "far-01", base_url: "http://127.0.0.1:9", token: "not-a-token-of-it" };
    expect((await desk.call("/admin/hosts/add", post(entry))).status).toBe(200);
    const { pin } = (await (await desk.call("/status")).json()) as { pin: string };
    const store = loginsIn(folder.path, silentLog);
    const login = { name: "far", url: desk.server.url, token: TOKEN, pin, token_name: null, expires: null };
    await store.keep(login);
    const names = async (desk?: string) => await namesHere(registry, folder.path, desk)("label");
    expect(await names("far")).toEqual([["far-01", "http://127.0.0.1:9"]]);
    expect(await names()).toEqual([]);
    expect(await names("unknown")).toEqual([]);
    expect(await namesHere(registry, folder.path, "far")("desk")).toEqual([["far", desk.server.url]]);
  });

  test("are those of the folder, with words about them", async () => {
    await using host = await testServer();
    const { call, configDir } = host;
    const entry = {
      label: "lab-01",
      base_url: "http://127.0.0.1:9",
      token: "not-a-token-of-it",
      tags: ["lab"],
    };
    expect((await call("/admin/hosts/add", post(entry))).status).toBe(200);
    const plan = await call("/plans/new", post({ actions: [["AC_log", ["a"]]], on: "lab-01" }));
    const { id } = (await plan.json()) as { id: string };
    const run = await call("/execute", post({ actions: [["AC_log", ["a"]]] }));
    const { run_id } = (await run.json()) as { run_id: string };
    const namesOf = namesHere(registry, configDir);
    expect(await namesOf("selection")).toEqual([
      ["lab-01", "http://127.0.0.1:9"],
      ["tag:lab", "tag"],
      ["all", "every host"],
    ]);
    expect((await namesOf("plan")).map(([name]) => name)).toEqual([id]);
    expect((await namesOf("run")).map(([name]) => name)).toEqual([run_id]);
  });

  test("are none where nothing can be read", async () => {
    using folder = temporaryFolder();
    const namesOf = namesHere(registry, folder.path);
    for (const kind of ["plan", "run", "job", "token", "script", "approval"] as const)
      expect(await namesOf(kind)).toEqual([]);
    await Bun.write(join(folder.path, "admin_hosts.json"), "{");
    expect(await namesOf("selection")).toEqual([]);
  });
});

test("the script for PowerShell is PowerShell", async () => {
  await Parser.init();
  const grammar = Bun.resolveSync("tree-sitter-powershell/tree-sitter-powershell.wasm", import.meta.dir);
  const parser = new Parser().setLanguage(await Language.load(grammar));
  const isSound = (script: string) => parser.parse(script)?.rootNode.hasError === false;
  expect(isSound(scripts.powershell)).toBe(true);
  expect(isSound(scripts.powershell.replace("{", ""))).toBe(false);
});
