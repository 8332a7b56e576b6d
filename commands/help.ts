/** `svc help`: prints a page of the documentation, and looks for words in all of them. */
import { terminalColumns, writeOut } from "../src/cli/output";
import { shownTable } from "../src/cli/shown-table";
import { view } from "../src/cli/view";
import { readHelp } from "../src/help/operations";

/** Columns of lines that a person likes to read. */
const WIDEST = 100;

export default view(readHelp, {
  ignoresDesk: true,
  on: false,
  hidden: ["elements"],
  positionals: ["topic"],
  async run({ call, input, globals, show }) {
    const body = await call(input);
    if (!body.read || globals.json) return show(body);
    // Not by `print`: its colours are orders to the terminal, and the page is of this program.
    writeOut(`${rendered(body.read.text)}\n`);
    return 0;
  },
  text: ({ pages = [], found }) => {
    if (found?.length === 0) return "No page has all of these words.";
    const hits = found?.map(({ page, heading, entry, line }) => {
      const where = `svc help ${entry ?? `${page}.md`}`;
      return `${heading}  (${where})\n    ${line}`;
    });
    const list = () =>
      shownTable(
        ["PAGE", "TITLE"],
        pages.map(({ page, title }) => [page, title]),
      );
    return hits?.join("\n") ?? list();
  },
  good: ({ found }) => found?.length !== 0,
  examples: [
    ["$0 help plans", "A page"],
    ["$0 help T15", "What to do about an error that names this number"],
    ['$0 help --search "exit code"', "Look in all pages"],
    ["$0 help token add", "The flags of a command"],
  ],
});

/** For the terminal; without colours where that is none, or its user wants none (https://no-color.org). */
function rendered(text: string): string {
  const columns = terminalColumns();
  const colors = columns !== undefined && !process.env.NO_COLOR;
  return Bun.markdown.ansi(text, { colors, columns: Math.min(WIDEST, columns ?? 80) }).trimEnd();
}
