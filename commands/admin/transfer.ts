import { resolve } from "node:path";
import { view } from "../../src/cli/view";
import { exportBook, importBook } from "../../src/fleet/operations/hosts";
import { printable } from "../../src/lib/sanitize";

export const exportHosts = view(exportBook, {
  positionals: ["file"],
  complete: ({ file, ...input }) =>
    file === undefined || file === resolve("-") ? input : { ...input, file },
  text: ({ file, hosts, text }) => text?.trimEnd() ?? `${printable(file ?? "")}: ${hosts} hosts`,
  examples: [
    ["$0 admin export hosts.csv", "For a spreadsheet, without tokens"],
    ["$0 admin export hosts.json --tokens", "To another machine; 0600"],
  ],
});

export const importHosts = view(importBook, {
  positionals: ["file"],
  text: ({ added, replaced }) => `${added} added, ${replaced} replaced`,
  examples: [["$0 admin import hosts.csv", "A hundred hosts at once"]],
});
