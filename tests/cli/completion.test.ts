import { describe, expect, test } from "bun:test";
import { Language, Parser } from "web-tree-sitter";
import { registry } from "../../commands";
import { complete, scripts } from "../../src/cli/completion";

const offered = async (...words: string[]) => (await complete(registry, words)).map(([text]) => text);

describe("completing", () => {
  test("an empty line offers every subcommand, with what it does", async () => {
    expect(await complete(registry, [""])).toContainEqual(["serve", "Run the REST server"]);
    expect(await offered("exe")).toEqual(["execute"]);
  });

  test("a subcommand of its own kind offers those below it", async () => {
    expect(await offered("audit", "ver")).toEqual(["verify-proof", "verify", "verify-fork"]);
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
    expect(await offered("--json", "audit", "ver")).toEqual(["verify-proof", "verify", "verify-fork"]);
    expect(await offered("--config-dir", "there", "audit", "ver")).toEqual([
      "verify-proof",
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

test("the script for PowerShell is PowerShell", async () => {
  await Parser.init();
  const grammar = Bun.resolveSync("tree-sitter-powershell/tree-sitter-powershell.wasm", import.meta.dir);
  const parser = new Parser().setLanguage(await Language.load(grammar));
  const isSound = (script: string) => parser.parse(script)?.rootNode.hasError === false;
  expect(isSound(scripts.powershell)).toBe(true);
  expect(isSound(scripts.powershell.replace("{", ""))).toBe(false);
});
