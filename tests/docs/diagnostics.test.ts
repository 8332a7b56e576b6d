/** The page on diagnostics has every check. */
import { expect, test } from "bun:test";
import { withChecks } from "../../build/checks";
import { readPage } from "./pages";

test("the table of docs/diagnostics.md is up to date: it is what `npm run docs` writes", () => {
  const page = readPage("docs/diagnostics.md");
  expect(page).toBe(withChecks(page));
});
