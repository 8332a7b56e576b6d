import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { addons } from "../../build/addons";
import { hostTarget } from "../../build/targets";
import { dependencies } from "../../package.json";
import type { Bom, Component } from "../../src/licenses/operations";
import { BINARY } from "../support";
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
  const refs = everything(components).map((component) => component["bom-ref"]);
  expect(new Set(refs).size).toBe(refs.length);
});

test("it is CycloneDX by its own schema", async () => {
  const { stdout } = await svc.run(["licenses", "--json"]);
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(stdout)).toBeNull();
});

test("it names what the source maps of the build name and what is embedded as a file, and nothing else", async () => {
  const maps = join(BINARY, "..", "maps", hostTarget());
  const names = new Set<string>();
  for (const map of new Bun.Glob("*.map").scanSync(maps)) {
    const { sources }: { sources: string[] } = await Bun.file(join(maps, map)).json();
    for (const source of sources) names.add(packageOf(source));
  }
  // Of these there is only what the build put in place of them: there is no addon for this platform.
  for (const [name, { files }] of Object.entries(addons)) {
    const file = files[hostTarget()];
    if (file === null) names.delete(name);
    else names.add(packageOf(`node_modules/${file}`));
  }
  // A module of JSON is in no source map.
  for (const name of ["bun", "swagger-ui-dist", "uplot", "@novnc/novnc", "unhomoglyph"]) names.add(name);
  names.delete("");
  const listed = new Set((await bom()).components.map(({ name }) => name));
  expect([...listed].toSorted()).toEqual([...names].toSorted());
});

test("what is linked into the native addons is named below them", async () => {
  const { components } = await bom();
  const linked = components.flatMap(({ components: inner = [] }) => inner.map(({ name }) => name));
  for (const name of ["libdatachannel", "libjuice", "openssl", "usrsctp", "nusb"]) {
    expect(linked).toContain(name);
  }
});

test("nothing that only builds or tests svc is in it", async () => {
  const names = (await bom()).components.map(({ name }) => name);
  for (const name of ["typescript", "@biomejs/biome", "fast-check"]) expect(names).not.toContain(name);
});

test("everything embedded has a licence", async () => {
  const unknown = everything((await bom()).components).filter(({ licenses }) =>
    licenses.some((choice) => "license" in choice && choice.license.name === "unknown"),
  );
  expect(unknown.map(({ name }) => name)).toEqual([]);
});

test("everything embedded brings the text of its licence", async () => {
  const without = everything((await bom()).components).filter(
    ({ licenses, evidence }) =>
      !evidence && !licenses.every((choice) => "license" in choice && choice.license.text),
  );
  expect(without.map(({ name }) => name)).toEqual([]);
  const { stdout: text } = await svc.run(["licenses", "--text"]);
  expect(text).toContain("Copyright (c) 1998-2019 The OpenSSL Project.  All rights reserved.");
  expect(text).toContain("Randall Stewart and Michael Tuexen");
  expect(text).toMatch(/^nusb \d.*\n=+\nSource: https:\/\/github.com\/kevinmehall\/nusb/m);
});

test("a package that has others in it brings the licences of those", async () => {
  const { components } = await bom();
  const textsOf = (wanted: string) =>
    JSON.stringify(components.find(({ name }) => name === wanted)?.licenses);
  const texts = textsOf("@novnc/novnc");
  expect(texts).toContain('"id":"MPL-2.0"');
  expect(texts).toContain("Mozilla\\nPublic License 2.0");
  expect(texts).toContain("Copyright (C) 2014-2016 by Vitaly Puzrin");
  expect(textsOf("tesseract-wasm")).toContain("Robert Knight and tesseract-wasm contributors");
  expect(textsOf("tesseract-wasm")).toContain("Emscripten authors, see AUTHORS file");
});

test("svc licenses lists them, with --text in full", async () => {
  const { stdout } = await svc.run(["licenses"]);
  expect(stdout).toMatch(/^hono +\d+\.\d+\.\d+ +MIT$/m);
  expect(stdout).toMatch(/^ {2}nusb +\d+\.\d+\.\d+ +Apache-2\.0 OR MIT$/m);
  const { stdout: text } = await svc.run(["licenses", "--text"]);
  expect(text).toMatch(/^hono \d+\.\d+\.\d+: MIT\n=+\nMIT License/m);
});

/** With what is linked into them. */
const everything = (components: readonly Component[]) =>
  components.flatMap((component) => [component, ...(component.components ?? [])]);

/** Empty for our own files. */
const packageOf = (path: string) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? "";
