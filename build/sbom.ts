/**
 * The software bill of materials: CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/) of the packages whose files are in a
 * binary, each with its licence and the licence's text, and of the libraries within native addons.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Bom, Component } from "../src/licenses/operations";
import { addons } from "./addons";
import { storedText, withText } from "./licences";
import { licenceOf, linkedInto } from "./linked";

const PACKAGE = v.object({
  name: v.string(),
  version: v.string(),
  license: v.optional(v.string()),
  /** As package.json had it before `license`. */
  licenses: v.optional(v.array(v.object({ type: v.string() }))),
});

/**
 * @param files what a binary was made of, as paths; those of packages are under some `node_modules`.
 */
export function billOfMaterials(files: readonly string[], svc: { name: string; version: string }): Bom {
  const byFolder = Map.groupBy(files, packageFolder);
  const found = [...byFolder].flatMap(([folder, own]) => (folder ? [componentIn(folder, own)] : []));
  // A package may be there more than once, at several places.
  const byPurl = new Map(found.map((component) => [component.purl, component]));
  const components = [...byPurl.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { type: "application", "bom-ref": svc.name, ...svc, licenses: [{ license: { id: "MIT" } }] },
    },
    components: [runtime(), ...components],
  };
}

/** Bun's npm package brings no licence; what it says of itself is at the address in the text. */
function runtime(): Component {
  const text = `Bun is MIT-licensed. It contains JavaScriptCore (LGPL-2.0) and other libraries under licences of their own:
https://bun.com/docs/project/licensing`;
  const purl = `pkg:npm/bun@${Bun.version}`;
  const licenses = [{ license: { id: "MIT", text: { content: text } } }];
  return { type: "platform", "bom-ref": purl, name: "bun", version: Bun.version, purl, licenses };
}

/** `…/node_modules/@scope/name` of a file in it; the innermost where packages are nested. */
function packageFolder(file: string): string | undefined {
  return /^.*[\\/]?node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];
}

function componentIn(folder: string, files: readonly string[]): Component {
  const { name, version, license, licenses } = v.parse(
    PACKAGE,
    JSON.parse(readFileSync(join(folder, "package.json"), "utf8")),
  );
  const declared = license ?? licenses?.map(({ type }) => type).join(" OR ") ?? "unknown";
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const linked = files
    .filter((file) => file.endsWith(".node"))
    .flatMap((file) => linkedInto(readFileSync(file, "latin1") + recipeOf(file), purl));
  const component: Component = {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses: licenceOf(NOT_SPDX[declared] ?? declared),
    ...(linked.length > 0 && {
      components: linked.map((part) => withText(part, storedText(part.name, part.version) ?? "")),
    }),
  };
  const brings = licenceText(folder) || licenceText(packageOfAddon(folder, name));
  return withText(component, [brings, storedText(name) ?? ""].filter((text) => text !== "").join("\n\n"));
}

/** As package.json has them, and the SPDX ids that are meant. */
const NOT_SPDX: Readonly<Record<string, string>> = { "MPL 2.0": "MPL-2.0" };

/** The folder of the package that an addon's own package is a part of. */
function packageOfAddon(folder: string, name: string): string {
  for (const [owner, { files }] of Object.entries(addons)) {
    if (Object.values(files).some((file) => file?.startsWith(`${name}/`))) {
      return join(folder.slice(0, -name.length), owner);
    }
  }
  return folder;
}

/** What the addon `file` was built by. */
function recipeOf(file: string): string {
  const path = file.replaceAll("\\", "/");
  for (const { files, recipe } of Object.values(addons)) {
    const own = Object.values(files).find((name) => name !== null && path.endsWith(name));
    if (own && recipe) return readFileSync(join(file.slice(0, -own.length), recipe), "utf8");
  }
  return "";
}

/**
 * What licences ask to be kept with copies: their text, and notices; also of what the package has from others, also in those
 * files of `vendor` that its licence names.
 */
function licenceText(folder: string): string {
  const text = ownLicenceText(folder);
  const named = new Set([...text.matchAll(/\bvendor\/[\w./-]*LICEN[CS]E[\w.-]*/g)].map(([path]) => path));
  const found = [...named].map((path) => join(folder, path)).filter((path) => existsSync(path));
  return [text, ...found.map((path) => readFileSync(path, "utf8").trim())].join("\n\n").trim();
}

function ownLicenceText(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => /^(licen[cs]es?|copying|notice)([.-].*)?$/i.test(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) return readFileSync(path, "utf8").trim();
      return readdirSync(path)
        .map((name) => readFileSync(join(path, name), "utf8").trim())
        .join("\n\n");
    })
    .join("\n\n");
}
