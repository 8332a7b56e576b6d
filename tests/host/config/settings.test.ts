import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSettings } from "../../../src/host/config/settings";
import { CHECK_NAMES } from "../../../src/host/diagnostics/checks";
import { post, temporaryFolder, testServer } from "../../support";
import { bundleOf } from "./support";

function settingsIn(folder: string, content?: string) {
  const file = join(folder, "host_service.json");
  if (content !== undefined) writeFileSync(file, content);
  const settings = createSettings(
    { file, lock: join(folder, "lock") },
    { "diagnose.skip": ["mouse", "clock"] },
  );
  return { file, settings, read: () => JSON.parse(readFileSync(file, "utf8")) };
}

test("a setting is kept in a private file, and removed when it has no value", async () => {
  using folder = temporaryFolder();
  const { file, settings, read } = settingsIn(folder.path);
  expect([settings.get("diagnose.skip"), existsSync(file)]).toEqual([[], false]);
  await settings.set("diagnose.skip", ["mouse", "mouse"]);
  expect(settings.list()).toEqual([{ name: "diagnose.skip", value: ["mouse"] }]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await settings.set("diagnose.skip", []);
  expect([settings.get("diagnose.skip"), read()]).toEqual([[], { diagnose: {} }]);
});

test("fields of other programs stay, and values that this version does not know are left out", async () => {
  using folder = temporaryFolder();
  const content = '{"name": "kiosk", "diagnose": {"skip": ["clock", "of_tomorrow"], "other": 1}}';
  const { settings, read } = settingsIn(folder.path, content);
  expect(settings.get("diagnose.skip")).toEqual(["clock"]);
  await settings.set("diagnose.skip", ["mouse"]);
  expect(read()).toEqual({ name: "kiosk", diagnose: { skip: ["mouse"], other: 1 } });
});

test("a broken file is reported and stays as it is", async () => {
  using folder = temporaryFolder();
  for (const content of ["[", '["kiosk"]', "null", "7", ""]) {
    const { file, settings } = settingsIn(folder.path, content);
    expect(() => settings.list()).toThrow("host_service.json is not an object as JSON");
    const setting = settings.set("diagnose.skip", ["mouse"]);
    await expect(setting).rejects.toThrow("mend it or restore it from a backup");
    expect(readFileSync(file, "utf8")).toBe(content);
  }
});

test("a setting is not put in the place of something else", async () => {
  using folder = temporaryFolder();
  for (const content of ['{"diagnose": ["kiosk"]}', '{"diagnose": "kiosk"}', '{"diagnose": null}']) {
    const { file, settings } = settingsIn(folder.path, content);
    await expect(settings.set("diagnose.skip", ["mouse"])).rejects.toThrow("has no object in diagnose");
    expect(readFileSync(file, "utf8")).toBe(content);
  }
});

test("a setting and a value that there are not are refused by name", async () => {
  using folder = temporaryFolder();
  const { settings, file } = settingsIn(folder.path);
  await expect(settings.set("toString", [])).rejects.toThrow(
    'name: expected diagnose.skip but found "toString"',
  );
  await expect(settings.set("diagnose.skip", ["disk"])).rejects.toThrow(
    "value: expected mouse or clock but found",
  );
  expect(existsSync(file)).toBe(false);
});

test("a setting that leaves out everything is refused, and diagnosis fails where a file has one", async () => {
  using folder = temporaryFolder();
  const { settings, file } = settingsIn(folder.path);
  await expect(settings.set("diagnose.skip", ["mouse", "clock"])).rejects.toThrow(
    "value: diagnose.skip would leave out everything",
  );
  expect(existsSync(file)).toBe(false);
  await using host = await testServer();
  writeFileSync(
    join(host.configDir, "host_service.json"),
    JSON.stringify({ diagnose: { skip: CHECK_NAMES } }),
  );
  const answer = await host.call("/diagnose");
  expect([answer.status, await answer.text()]).toEqual([
    409,
    expect.stringContaining("diagnose.skip leaves no check to run"),
  ]);
});

test("over HTTP a setting is in force at once, and a bundle with one that svc would not load is refused", async () => {
  await using host = await testServer();
  const body = { name: "diagnose.skip", value: ["screenshot", "mouse", "optional_deps"] };
  expect(await (await host.call("/config/set", post(body))).json()).toEqual(body);
  expect(await (await host.call("/config/list")).json()).toEqual({
    settings: [{ name: "desktop.screen", value: [] }, body],
  });
  expect(await (await host.call("/diagnose")).json()).toMatchObject({ skipped: body.value });
  const wrong = bundleOf({ "host_service.json": { diagnose: { skip: "mouse" } } });
  expect((await host.call("/config/import", post(wrong))).status).toBe(400);
}, 180_000);
