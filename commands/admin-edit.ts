/** `svc admin edit`: opens hosts of the address book in an editor, and stores what was changed. */
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import { view } from "../src/cli/view";
import { field, fileContent } from "../src/core/fields";
import { editHosts, editText, requireSameHosts } from "../src/desk/fleet/operations/edit";
import { badInput, Failure, type FailureCode, unavailable } from "../src/lib/errors";
import { orElse } from "../src/lib/or-else";
import { printable } from "../src/lib/sanitize";
import { spawn } from "../src/lib/spawn";
import { HOST_COLUMNS, rowOf } from "./admin-list";

/** The editor, as other programs find it; it may come with flags. */
const editor = (): string =>
  process.env.VISUAL || process.env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");

/** What Ctrl-C and Ctrl-\ send to the editor as well, whose keys they are. */
const OF_THE_EDITOR = ["SIGINT", "SIGQUIT"] as const;

/** What ends this process, and the editor with it: what was saved is kept first. */
const ENDING = ["SIGTERM", "SIGHUP"] as const;

/**
 * Lets a person edit the file at `path`. A signal ends the editor, or not, as that likes, and never this process before it: a text that
 * was saved would be left behind, and nobody would say where.
 *
 * @throws `unavailable` where the editor does not end well, or was ended.
 */
async function edit(path: string): Promise<void> {
  const program = editor();
  const command =
    process.platform === "win32"
      ? ["cmd.exe", "/d", "/s", "/c", `${program} "${path}"`]
      : ["/bin/sh", "-c", `${program} "$1"`, "svc", path];
  const child = spawn(command, { stdio: ["inherit", "inherit", "inherit"], windowsHide: false });
  let ended: string | undefined;
  const ignore = () => {};
  const pass = (signal: NodeJS.Signals) => {
    ended = signal;
    child.kill(signal);
  };
  for (const signal of OF_THE_EDITOR) process.on(signal, ignore);
  for (const signal of ENDING) process.on(signal, pass);
  try {
    const code = await child.exited;
    if (ended !== undefined) throw unavailable(`nothing was changed: svc was ended by ${ended}`);
    if (code !== 0)
      throw unavailable(
        `nothing was changed: the editor ${printable(program, 80)} ended with exit code ${code}`,
      );
  } finally {
    for (const signal of OF_THE_EDITOR) process.off(signal, ignore);
    for (const signal of ENDING) process.off(signal, pass);
  }
}

/** What the folders of texts are called, in the folder for temporary files. */
const PREFIX = "svc-edit-";

/** The text in one of those folders. */
const TEXT = "hosts.txt";

/** Removes the text that was kept and is stored now: it may have tokens. */
function removeKept(text: string): void {
  for (const name of orElse(() => readdirSync(tmpdir()), []).filter((one) => one.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    try {
      // What others put there is not opened: reading it might never end.
      const file = lstatSync(join(folder, TEXT));
      const isOwn = [lstatSync(folder), file].every(({ uid }) => uid === (process.getuid?.() ?? uid));
      if (!isOwn || !file.isFile() || file.size !== Buffer.byteLength(text)) continue;
      if (readFileSync(join(folder, TEXT), "utf8") === text) rmSync(folder, { recursive: true, force: true });
    } catch {
      // It is that of another user, or has gone.
    }
  }
}

/** Whether `error` says that nothing was stored; what else went wrong may have come afterwards. */
const isRefusal = (error: unknown): boolean => error instanceof Failure && !UNCERTAIN.includes(error.code);

/** Codes of failures after which the change may have been stored, or be stored yet. */
const UNCERTAIN: readonly FailureCode[] = ["unavailable", "timeout", "cancelled"];

/** Whether the file has that text, or is not there any more. */
const isAsItWas = (path: string, text: string): boolean =>
  orElse(() => readFileSync(path, "utf8") === text, true);

/** `svc admin edit`. */
export const editVerb = view(editHosts, {
  on: false,
  hidden: ["before", "after"],
  extra: {
    hosts: field(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(300_000)),
      "Hosts: labels, tag:TAG or all, separated by commas; ! excludes",
    ),
    file: field(v.optional(fileContent(v.string())), "The edited text, in place of an editor"),
  },
  positionals: ["hosts"],
  async run({ service, input, extra: { hosts, file }, call, show }) {
    if (service.elsewhere) throw badInput("svc admin edit works on the desk itself, without --desk");
    const before = editText(await (await service.addressBook()).select(hosts));
    const store = async (after: string) => show(await call({ ...input, before, after }));
    if (file !== undefined) {
      requireSameHosts(file, before);
      const code = await store(file);
      removeKept(file);
      return code;
    }
    const folder = mkdtempSync(join(tmpdir(), PREFIX));
    const path = join(folder, TEXT);
    writeFileSync(path, before, { mode: 0o600 });
    let isTried = false;
    try {
      await edit(path);
      const after = orElse(() => readFileSync(path, "utf8"), undefined);
      if (after === undefined) throw unavailable("nothing was changed: the editor has left no text");
      isTried = after !== before;
      const code = isTried ? await store(after) : show([]);
      rmSync(folder, { recursive: true, force: true });
      return code;
    } catch (error) {
      if (isAsItWas(path, before)) rmSync(folder, { recursive: true, force: true });
      else if (!isTried || isRefusal(error))
        service.log.warn(`nothing was changed; the text is kept: give it with --file ${path}`);
      else
        service.log.warn(
          `it is not known whether the hosts were changed: svc admin list shows them; the text is kept: ${path}`,
        );
      throw error;
    }
  },
  text: (hosts) => (hosts.length === 0 ? "nothing was changed" : shownTable(HOST_COLUMNS, hosts.map(rowOf))),
  epilogue:
    "The editor is that of VISUAL or EDITOR. No token is in the text; one that is added to a host replaces its own.",
  examples: [
    ["$0 admin edit tag:lab", "Their labels, addresses, tags, authorities and pins, in your editor"],
    ["$0 admin edit all --file edited.txt", "What was kept when it could not be stored"],
  ],
});
