/**
 * Licence texts that parts of svc do not bring themselves, their own or those of what they were made with, as their sources have them: a
 * file of `licences` for each, which begins with its source. A new one is copied from there, word by word.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "../src/licenses/operations";

const FOLDER = join(import.meta.dir, "licences");

/** Parts that share one text, by the beginning of their names. */
const SHARED: readonly string[] = ["@node-usb/", "objc2"];

/** The text of the licence of a part, after its source; undefined where there is none. */
export function storedText(name: string, version = ""): string | undefined {
  const shared = SHARED.find((start) => name.startsWith(start))?.replace("/", "");
  // OpenSSL has another licence since 3.0.
  const own = name === "openssl" ? `openssl-${version.split(".")[0]}` : name.replace("/", "+");
  const path = join(FOLDER, `${shared ?? own}.txt`);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

/**
 * The licence of a component with its text. CycloneDX has no place for a text beside an expression: it is evidence then.
 *
 * @param text empty where there is none.
 */
export function withText(component: Component, text: string): Component {
  if (text === "") return component;
  const content = { text: { content: text } };
  if (component.licenses.some((choice) => "expression" in choice)) {
    return { ...component, evidence: { licenses: [{ license: { name: "text", ...content } }] } };
  }
  const licenses = component.licenses.map((choice) =>
    "license" in choice ? { license: { ...choice.license, ...content } } : choice,
  );
  return { ...component, licenses };
}

/** @throws where a part has no text of its licence, which has to go with each copy. */
export function requireTexts(components: readonly Component[]): void {
  const parts = components.flatMap((component) => [component, ...(component.components ?? [])]);
  const missing = parts.filter(
    ({ licenses, evidence }) =>
      !evidence && !licenses.every((choice) => "license" in choice && choice.license.text),
  );
  if (missing.length === 0) return;
  throw new Error(
    `no text of the licence of ${missing.map(({ name, version = "" }) => `${name} ${version}`.trim()).join(", ")}: copy it from its source to build/licences`,
  );
}
