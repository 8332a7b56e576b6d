/** `docs/events.md`: its table is that of the types that there are. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { withEvents } from "../../build/events";
import { ROOT } from "../../build/targets";

test("the table of events is what `npm run docs` writes", async () => {
  const page = await Bun.file(join(ROOT, "docs", "events.md")).text();
  expect(page).toBe(withEvents(page));
});
