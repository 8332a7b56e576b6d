/** `svc data`: adds, lists and removes data that svc does not carry, such as languages for reading text. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { addData, listData, removeData } from "../src/host/desktop/operations/data";

export default {
  verbs: {
    add: view(addData, {
      positionals: ["name", "file"],
      text: ({ name }) => `added ${name}`,
      examples: [
        ["$0 data add ocr-eng eng.traineddata", "Read English text on the screen"],
        ["$0 data add ocr-wasm tesseract-wasm-0.11.0.tgz", "Where the host has no program tesseract"],
      ],
    }),
    list: view(listData, {
      columns: ["NAME", "BYTES"],
      rows: ({ data }) => data.map(({ name, bytes }) => [name, `${bytes}`]),
      none: "no data",
    }),
    remove: view(removeData, { positionals: ["name"], text: ({ removed }) => `removed ${removed}` }),
  },
} satisfies Group;
