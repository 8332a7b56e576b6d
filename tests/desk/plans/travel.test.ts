/** The files that travel with a plan: scripts and pictures beside its list are there while a job runs, and nowhere afterwards. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Scope } from "../../../src/core/rights";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { configFiles } from "../../../src/lib/paths";
import { readContent } from "../../../src/wire/job/content";
import { temporaryFolder, testServer } from "../../support";
import { host } from "../fleet/support";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
  "base64",
);

/** A desk with one host, a folder of files on the desk, and who makes plans there. */
async function desk(files: Readonly<Record<string, unknown>>) {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content instanceof Uint8Array ? content : JSON.stringify(content));
  }
  const [here, there] = [await testServer(), await testServer()];
  await (await here.service.addressBook()).addAll([host("a", there.server.url)], false);
  const make = async (actions: unknown[], from: string, scopes: Scope[] = ["admin"]) => {
    const caller = localCaller(here.service, "api", {
      grant: { name: scopes.includes("admin") ? null : "anna", scopes },
    });
    return callOperation(
      here.service,
      newPlan,
      { actions, on: "all", path: join(folder.path, from) },
      caller,
    );
  };
  const apply = async (made: { id: string; digest: string }) => {
    const { id, digest } = made;
    const plan = await callOperation(
      here.service,
      applyPlan,
      { id, digest, wait: true },
      localCaller(here.service, "api"),
    );
    return plan.targets[0];
  };
  return {
    ...{ here, there, folder: folder.path, make, apply },
    async contentOf(id: string) {
      const { ledger } = await here.service.plans();
      return readContent(ledger.content(ledger.find(id).seq));
    },
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

const LOG = (message: string) => [["AC_log", { message }]];

test("scripts that the list calls, and those that they call, run on a host that has none of them", async () => {
  await using made = await desk({
    "lists/main.json": null,
    "lists/sub/one.json": [["AC_run_script", { path: "../../shared/two.json" }]],
    "shared/two.json": LOG("from afar"),
  });
  const plan = await made.make([["AC_run_script", { path: "sub/one.json" }]], "lists/main.json");
  expect(plan.commands.toSorted()).toEqual(["AC_log", "AC_run_script"]);
  const content = await made.contentOf(plan.id);
  expect([content.name, ...content.bytes.keys()]).toEqual([
    "lists/main.json",
    "lists/sub/one.json",
    "shared/two.json",
  ]);
  expect(await made.apply(plan)).toMatchObject({ label: "a", state: "ok" });
  const [run] = (await made.there.service.runs()).list();
  expect(run).toMatchObject({ status: "ok", source_type: "plan", script_path: "lists/main.json" });
  expect((await made.there.service.runs()).show(run?.run_id ?? "").log).toMatchObject([
    { message: "from afar" },
  ]);
  const { jobFiles } = configFiles(made.there.configDir);
  expect(existsSync(jobFiles) ? readdirSync(jobFiles) : []).toEqual([]);
});

test("what travels is what the plan was made with, however the file changes afterwards", async () => {
  await using made = await desk({ "main.json": null, "one.json": LOG("before") });
  const plan = await made.make([["AC_run_script", { path: "one.json" }]], "main.json");
  writeFileSync(join(made.folder, "one.json"), JSON.stringify([["AC_fail", { message: "after" }]]));
  expect(await made.apply(plan)).toMatchObject({ state: "ok" });
});

test("pictures beside a script travel once; what is not there is looked for on the host", async () => {
  await using made = await desk({
    "main.json": null,
    "save.png": PNG,
    "sub/one.json": [["AC_locate_image_center", { image: "../save.png" }]],
  });
  const actions = [
    ["AC_locate_image_center", { image: "save.png" }],
    ["AC_wait_image", { image: "of-the-host.png" }],
    ["AC_run_script", { path: "sub/one.json" }],
  ];
  const { id } = await made.make(actions, "main.json");
  const { bytes } = await made.contentOf(id);
  expect([...bytes.keys()]).toEqual(["save.png", "sub/one.json"]);
  expect(Buffer.from(bytes.get("save.png") ?? []).equals(PNG)).toBe(true);
});

test("absolute paths and stored scripts are of the host, and do not travel", async () => {
  await using made = await desk({ "main.json": null });
  const actions = [
    ["AC_run_script", { path: "/srv/on-the-host.json" }],
    ["AC_run_script", { path: "script:nightly" }],
    ["AC_locate_image_center", { image: "/srv/on-the-host.png" }],
  ];
  const { id } = await made.make(actions, "main.json");
  expect(await made.contentOf(id)).toMatchObject({ name: "", files: {} });
});

describe("a plan is refused", () => {
  test("with a script that is not there, or is wrong", async () => {
    await using made = await desk({ "main.json": null, "wrong.json": [["AC_nonsense"]] });
    const make = (path: string) => made.make([["AC_run_script", { path }]], "main.json");
    expect(make("none.json")).rejects.toThrow("actions[0].path: no such file");
    expect(make("wrong.json")).rejects.toThrow("AC_nonsense");
    await Promise.allSettled([make("none.json"), make("wrong.json")]);
  });

  test("with a file whose name hosts refuse, and with more than they take", async () => {
    await using made = await desk({ "main.json": null, ".d/one.json": LOG("x") });
    const making = made.make([["AC_run_script", { path: ".d/one.json" }]], "main.json");
    await expect(making).rejects.toThrow("the file .d/one.json cannot travel");
    const large = made.make(
      Array.from({ length: 950 }, () => ["AC_log", { message: "x".repeat(1_000) }]),
      "main.json",
    );
    await expect(large).rejects.toThrow("expected at most 900000 bytes, with the files");
  });

  test("with files that are one file where names in another case are the same", async () => {
    await using made = await desk({ "main.json": null, "a/One.json": LOG("1"), "A/one.json": LOG("2") });
    const run = (path: string) => ["AC_run_script", { path }];
    await expect(made.make([run("a/One.json"), run("A/one.json")], "main.json")).rejects.toThrow(
      "actions: a/One.json and A/one.json cannot travel together: on some hosts they are one file",
    );
    // The list itself has a name there, too.
    writeFileSync(join(made.folder, "MAIN.json"), JSON.stringify(LOG("3")));
    await expect(made.make([run("MAIN.json")], "main.json")).rejects.toThrow(
      "main.json and MAIN.json cannot",
    );
    writeFileSync(join(made.folder, "a.json"), JSON.stringify(LOG("4")));
    mkdirSync(join(made.folder, "A.json"));
    writeFileSync(join(made.folder, "A.json/b.json"), JSON.stringify(LOG("5")));
    await expect(made.make([run("a.json"), run("A.json/b.json")], "main.json")).rejects.toThrow(
      "a.json and A.json/b.json cannot",
    );
  });

  test("with what is no picture, so that no other file leaves the desk", async () => {
    await using made = await desk({ "main.json": null, "secret.png": { password: "x" } });
    const making = made.make([["AC_locate_image_center", { image: "secret.png" }]], "main.json");
    expect(making).rejects.toThrow("expected a PNG at secret.png");
    await making.catch(() => {});
  });

  test("with a file of the desk that its caller may not name, or with commands that it may not use there", async () => {
    await using made = await desk({ "main.json": null, "one.json": [["AC_screenshot"]] });
    const making = made.make([["AC_run_script", { path: "one.json" }]], "main.json", ["operate"]);
    expect(making).rejects.toThrow("path, a file on this desk, needs admin");
    await making.catch(() => {});
  });
});
