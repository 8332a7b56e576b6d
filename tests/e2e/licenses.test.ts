import { afterAll, beforeAll, expect, test } from "bun:test";
import { dependencies } from "../../package.json";
import type { Bom } from "../../src/licenses/bom";
import { type Installed, installedBinary } from "./binary";

let svc: Installed;
beforeAll(() => {
  svc = installedBinary();
});
afterAll(() => svc[Symbol.dispose]());

const bom = async (): Promise<Bom> => JSON.parse((await svc.run(["licenses", "--json"])).stdout);

test("the bill of materials names what is embedded, by package URL, and the runtime", async () => {
  const { bomFormat, specVersion, components } = await bom();
  expect([bomFormat, specVersion]).toEqual(["CycloneDX", "1.6"]);
  const purls = components.map(({ purl }) => purl);
  expect(purls).toContain(`pkg:npm/bun@${Bun.version}`);
  for (const name of ["hono", "valibot", "yargs", "@valibot/to-json-schema"] as const) {
    expect(purls).toContain(`pkg:npm/${name.replace("@", "%40")}@${dependencies[name]}`);
  }
  expect(new Set(components.map((component) => component["bom-ref"])).size).toBe(components.length);
});

test("nothing that only builds or tests svc is in it", async () => {
  const names = (await bom()).components.map(({ name }) => name);
  for (const name of ["typescript", "@biomejs/biome", "fast-check"]) expect(names).not.toContain(name);
});

test("everything embedded has a licence", async () => {
  for (const { name, licenses } of (await bom()).components) {
    expect([name, licenses.map(({ license }) => license.id ?? license.name)]).not.toEqual([
      name,
      ["unknown"],
    ]);
  }
});

test("svc licenses lists them, with --text in full", async () => {
  const { stdout } = await svc.run(["licenses"]);
  expect(stdout).toMatch(/^hono +\d+\.\d+\.\d+ +MIT$/m);
  const { stdout: text } = await svc.run(["licenses", "--text"]);
  expect(text).toMatch(/^hono \d+\.\d+\.\d+: MIT\n=+\nMIT License/m);
});
