import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import { view } from "../src/cli/view";
import { field, fileContent } from "../src/core/fields";
import { editHosts, editText, requireSameHosts } from "../src/desk/fleet/operations/edit";
import { badInput, unavailable } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { spawn } from "../src/lib/spawn";
import { HOST_COLUMNS, rowOf } from "./admin-list";

/** The editor, as other programs find it; it may come with flags. */
const editor = (): string =>
  process.env.VISUAL || process.env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");

/** Lets a person edit the file at `path`. @throws `unavailable` where the editor does not end well. */
async function edited(path: string): Promise<string> {
  const program = editor();
  const command =
    process.platform === "win32"
      ? ["cmd.exe", "/d", "/s", "/c", `${program} "${path}"`]
      : ["/bin/sh", "-c", `${program} "$1"`, "svc", path];
  const code = await spawn(command, { stdio: ["inherit", "inherit", "inherit"], windowsHide: false }).exited;
  if (code !== 0)
    throw unavailable(
      `nothing was changed: the editor ${printable(program, 80)} ended with exit code ${code}`,
    );
  return readFileSync(path, "utf8");
}

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
    const before = editText((await service.addressBook()).select(hosts));
    const store = async (after: string) => show(await call({ ...input, before, after }));
    if (file !== undefined) {
      requireSameHosts(file, before);
      return store(file);
    }
    const folder = mkdtempSync(join(tmpdir(), "svc-edit-"));
    const path = join(folder, "hosts.txt");
    writeFileSync(path, before, { mode: 0o600 });
    let isKept = false;
    try {
      const after = await edited(path);
      isKept = after !== before;
      const code = after === before ? show([]) : await store(after);
      isKept = false;
      return code;
    } finally {
      if (isKept) service.log.warn(`nothing was changed; the text is kept: give it with --file ${path}`);
      else rmSync(folder, { recursive: true, force: true });
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
