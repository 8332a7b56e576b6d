/**
 * Recording a script from what a person does.
 */
import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import * as v from "valibot";
import { between, field, flag, path, seconds } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, conflict, messageOf, rejected, systemCode, unavailable } from "../../../lib/errors";
import { isMissing, PRIVATE_FOLDER, writeNamedFile } from "../../../lib/files";
import type { Log } from "../../../lib/log";

interface Uses {
  readonly log: Log;
}

const ON_WAYLAND =
  "recording needs an X11 session: a Wayland compositor shows no program what is typed and clicked in another one";

/** The most actions of a script. */
const MAX_ACTIONS = 1_000;

const SCRIPT = v.pipe(
  v.string(),
  v.maxLength(4_096),
  v.regex(/^[^\0]*[^\0/]\.json$/i, "a path that ends in .json"),
);

export const recordScript = operation({
  name: "desktop.record",
  summary: "Write what a person does on the desktop as a script, until Escape or Ctrl-C",
  // It reads every key, in whatever window.
  scope: "admin",
  reveals: true,
  subcommand: "record",
  leftOut: {
    http: "it reads every key of whoever sits at the host, who therefore starts it there",
    script: "a script does what was recorded",
  },
  input: v.strictObject({
    script: field(path(SCRIPT), "File to write; pictures go into a folder next to it, NAME.images"),
    duration_s: field(
      v.optional(seconds(between(1, 86_400))),
      "Seconds after which it ends (default: never)",
    ),
    replace: flag("Replace a script that is there"),
  }),
  output: v.object({
    script: v.string(),
    actions: v.number(),
    /** Null where no click needed one. */
    images: v.nullable(v.string()),
  }),
  async run({ log }: Uses, { script, duration_s, replace }, { signal }) {
    if (process.platform !== "linux") throw unavailable("recording needs an X11 desktop, as Linux has it");
    const { socketPath } = await import("../wayland/connection");
    const compositor = socketPath(process.env);
    if (compositor !== undefined && !isMissing(compositor)) throw unavailable(ON_WAYLAND);
    if (!replace && !isMissing(script)) throw conflict(`script: ${script} is there already (--replace)`);
    requireWritable(dirname(script));
    const name = `${basename(script, extname(script))}.images`;
    const folder = join(dirname(script), name);
    const pictures = new Map<string, Uint8Array>();
    const keep = (png: Uint8Array) => {
      const path = `${name}/${pictures.size + 1}.png`;
      pictures.set(path, png);
      return path;
    };
    const { recordInput } = await import("./record");
    const limit = duration_s === undefined ? [] : [AbortSignal.timeout(duration_s * 1_000)];
    const begun = (missing: string | undefined) => {
      const ends = "recording; Escape or Ctrl-C ends it";
      if (missing === undefined)
        log.info(
          `${ends}. A field that says that it is secret is written as \${password}; all else that is typed is`,
        );
      else log.info(`${ends}. The script will have all that is typed, passwords too (${missing})`);
    };
    const { deeds, ending } = await recordInput({
      log,
      signal: AbortSignal.any([signal, ...limit]),
      keep,
      skipsOwnWindow: Boolean(process.stdin.isTTY),
      begun,
    });
    const { actionsOf, needsOf } = await import("./script");
    const actions = actionsOf(deeds, ending);
    if (actions.length === 0) throw rejected("nothing was done, so there is no script");
    if (actions.length > MAX_ACTIONS) {
      log.warn(
        `the script has ${actions.length} actions; one file may have ${MAX_ACTIONS}: cut it into several`,
      );
    }
    // The second click of two has a picture that is not needed.
    const used = actions.flatMap(([, { image }]) => (typeof image === "string" ? [image] : []));
    if (used.length > 0) makeFolder(folder);
    for (const image of used) {
      writeNamedFile(join(dirname(script), image), pictures.get(image) ?? new Uint8Array(), "script");
    }
    const lines = actions.map((action) => `    ${JSON.stringify(action)}`);
    // What it does next is for what it expects: it stops where that is not there.
    const needs = needsOf(actions);
    const given = needs.length > 0 ? `  "needs": ${JSON.stringify(needs)},\n` : "";
    const text = `{\n  "stop_on_error": true,\n${given}  "actions": [\n${lines.join(",\n")}\n  ]\n}\n`;
    writeNamedFile(script, text, "script");
    return { script, actions: actions.length, images: used.length > 0 ? folder : null };
  },
});

/** Before anything is done: it would be lost. */
function requireWritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK);
    if (statSync(folder).isDirectory()) return;
  } catch (error) {
    throw badInput(`script: its folder cannot be written to (${systemCode(error) ?? messageOf(error)})`);
  }
  throw badInput("script: its folder is none");
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (error) {
    throw rejected(`${folder} cannot be made (${systemCode(error) ?? messageOf(error)})`);
  }
}

export const operations = [recordScript];
