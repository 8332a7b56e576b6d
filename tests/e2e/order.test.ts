/** What the binary is laid out by (`build/svc.order`), and what a start of it reads. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { ORDER, recordOrder } from "../../build/order";
import { BINARY } from "../support";

/** The share of what a start reads that may be new since the order was recorded. */
const MOST_NEW = 0.3;

test("most functions that a start reads are among those that lie together: else `npm run order` records them anew", async () => {
  if (process.platform !== "linux") return;
  const read = (await recordOrder(BINARY)).filter((line) => line.startsWith("F "));
  const laid = new Set((await readFile(ORDER, "utf8")).split("\n"));
  const unknown = read.filter((line) => !laid.has(line));
  expect(read.length).toBeGreaterThan(200);
  expect(unknown.length / read.length).toBeLessThan(MOST_NEW);
});
