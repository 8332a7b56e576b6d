import * as v from "valibot";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { focusWindow, hotkey, setMousePosition, waitWindow, writeText } from "../src/desktop/operations";

const byTitle = { names: { title_substring: "title" }, positionals: ["title_substring"] } as const;

export default {
  verbs: {
    "set-mouse-position": view(setMousePosition, {
      positionals: ["x", "y"],
      examples: [["$0 desktop set-mouse-position 640 400", "Move the pointer"]],
    }),
    "focus-window": view(focusWindow, {
      ...byTitle,
      examples: [["$0 desktop focus-window Report", "Focus the first window with that in its title"]],
    }),
    "wait-window": view(waitWindow, {
      ...byTitle,
      examples: [["$0 desktop wait-window Report --timeout 30s", "Wait for a window"]],
    }),
    write: view(writeText, {
      hidden: ["write_string"],
      extra: {
        write_string: field(
          v.string(),
          "The text; - reads it from stdin, because other users can see a command line",
        ),
      },
      names: { write_string: "text" },
      positionals: ["write_string"],
      complete: async (_input, { write_string: text }) => ({
        write_string: text === "-" ? (await Bun.stdin.text()).replace(/\r?\n$/, "") : text,
      }),
      text: () => "typed",
      examples: [
        ["$0 desktop write hello", "Type into the window that has the focus"],
        ["$0 desktop write - < password", "Keep the text out of the process list"],
      ],
    }),
    hotkey: view(hotkey, {
      hidden: ["key_code_list"],
      extra: { key_code_list: field(v.string(), "The keys in order, with + between them") },
      names: { key_code_list: "keys" },
      positionals: ["key_code_list"],
      // The last + of `ctrl++` is a key.
      complete: (_input, { key_code_list: keys }) => ({ key_code_list: keys.split(/\+(?=.)/) }),
      text: () => "pressed",
      examples: [["$0 desktop hotkey ctrl+shift+t", "Press keys in order, release them in reverse"]],
    }),
  },
} satisfies Group;
