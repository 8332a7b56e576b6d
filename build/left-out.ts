/**
 * What svc never uses of four packages, and no bundler can tell: they choose at run time. `x11` speaks the X protocol, and loads
 * its extensions by name; `@modelcontextprotocol/server` checks what a person is asked for, and svc asks no person through it; the helpers
 * of `yargs` are more than its parser; `valibot` gives each schema the interface of Standard Schema.
 */
import { basename } from "node:path";
import type { BunPlugin } from "bun";
import { keySyms } from "x11";
import { endOfPath } from "./addons";

/** The extensions of the X protocol that svc never asks for, and a server. */
export const EXTENSIONS = endOfPath(
  "x11/lib/",
  "(?:xserver/index|ext/(?:apple-wm|composite|dbe|dpms|dri3|ge|glx|present|render|screen-saver|shape|sync|xc-misc|xinput|xkb|xv))\\.js",
);

/** Names of keys: svc reads the characters of those that have one (`src/host/desktop/record/keyboard.ts`). */
const KEYSYMS = endOfPath("x11/lib/keysyms.js");

/** From here on, the code of a key is its character's. */
const UNICODE = 0x0100_0000;

/** It brings the whole of Ajv along. */
const VALIDATOR = endOfPath("@modelcontextprotocol/server/dist/shimsNode.mjs");

/** What the package has there, without a validator. */
const NO_VALIDATOR = `import process from "node:process";
class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error("the validator of MCP is not part of svc");
  }
}
export { DefaultJsonSchemaValidator, process };`;

/** Every start loads the inner parser of yargs. This file also exports what yargs prints with, which few starts need. */
const YARGS_HELPERS = endOfPath("yargs/helpers/helpers.mjs");

const VALIBOT = endOfPath("valibot/dist/index.mjs");

/** Each schema gets an object and a function for libraries that take any schema. The table has thousands: 0.9 MiB of an idle server. */
const STANDARD = /schema\["~standard"\] = \{.*?\n\t\};/s;

/** Leaves it out of a build. */
export const leftOutPlugin: BunPlugin = {
  name: "left-out",
  setup(build) {
    build.onLoad({ filter: EXTENSIONS }, ({ path }) => ({
      loader: "js",
      contents: `throw new Error("${basename(path)} of x11 is not part of svc");`,
    }));
    build.onLoad({ filter: VALIBOT }, async ({ path }) => {
      const text = await Bun.file(path).text();
      const contents = text.replace(STANDARD, "");
      if (contents === text)
        throw new Error("valibot makes the interface for other libraries in another way");
      return { loader: "js", contents };
    });
    build.onLoad({ filter: YARGS_HELPERS }, () => ({
      loader: "js",
      contents: 'export { default as Parser } from "yargs-parser";',
    }));
    build.onLoad({ filter: VALIDATOR }, () => ({ loader: "js", contents: NO_VALIDATOR }));
    build.onLoad({ filter: KEYSYMS }, () => {
      const kept = Object.values(keySyms).flatMap(({ code, description }) => {
        const [character] = /^\(.\)/u.exec(description ?? "") ?? [];
        return character && code < UNICODE ? [{ code, description: character }] : [];
      });
      return { loader: "json", contents: JSON.stringify(kept) };
    });
  },
};
