import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { requireTexts, storedText, withText } from "../../build/licences";
import { CRATE_LICENCES, LIBRARIES } from "../../build/linked";
import type { Component } from "../../src/licenses/operations";

const part = (name: string, licenses: Component["licenses"]): Component => ({
  ...{ type: "library", "bom-ref": name, name, version: "1.2.3", purl: `pkg:generic/${name}`, licenses },
});

test("every library that may be linked into an addon has the text of its licence, with its source", () => {
  const names = [...Object.keys(CRATE_LICENCES), ...LIBRARIES.map(({ name }) => name)];
  const texts = names.flatMap((name) =>
    name === "openssl" ? [storedText(name, "1.1.1w"), storedText(name, "3.6.4")] : [storedText(name)],
  );
  expect(names.filter((_, nth) => texts[nth] === undefined)).toEqual([]);
  const folder = join(import.meta.dir, "../../build/licences");
  for (const file of readdirSync(folder)) {
    expect(readFileSync(join(folder, file), "utf8")).toMatch(/^Source: \S.*\n\n\s*\S/);
  }
});

test("a build fails that names what has no text of its licence", () => {
  const mit = part("mit", [{ license: { id: "MIT" } }]);
  const either = part("either", [{ expression: "MIT OR ISC" }]);
  const holder = { ...withText(mit, "Permission is hereby granted"), components: [either] };
  expect(() => requireTexts([holder])).toThrow(
    "no text of the licence of either 1.2.3: copy it from its source to build/licences",
  );
  expect(() => requireTexts([mit])).toThrow("no text of the licence of mit 1.2.3");
  requireTexts([{ ...holder, components: [withText(either, "Permission is hereby granted")] }]);
});
