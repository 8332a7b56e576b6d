/** What the runner knows of its files: a slow one without a time begins late, and the run waits for it in the end. */
import { expect, test } from "bun:test";
import timings from "./timings.json";

test("timings.json has a time for each test file, and for no other", () => {
  const files = [...new Bun.Glob("**/*.test.ts").scanSync(import.meta.dir)].map((file) => `tests/${file}`);
  const listed = Object.keys(timings.files);
  // A new file gets a line with the milliseconds that it takes.
  expect({
    missing: files.filter((file) => !listed.includes(file)),
    gone: listed.filter((file) => !files.includes(file)),
  }).toEqual({ missing: [], gone: [] });
});
