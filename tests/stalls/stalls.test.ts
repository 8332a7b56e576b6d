/**
 * How long one request may keep everybody else waiting: every route, with the worst bodies of its schema, on a server with defaults.
 *
 * `SVC_WRITE_STALLS=1` takes every kind of body for every field, and writes docs/stalls.md.
 */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Operation } from "../../src/core/operation";
import { takesIdempotencyKey } from "../../src/http/repeats";
import { operations } from "../../src/operations";
import { TOKEN } from "../support";
import { type StallRequest, worstOf } from "./bodies";
import { useStallHost } from "./child";
import { specialOf } from "./special";

/** The longest stall, in milliseconds of a processor on which the baseline takes {@link BASELINE_MS}. */
const LONGEST_MS = 50;

/** What the baseline of host.ts takes on the machine that the limit is for, in milliseconds. */
const BASELINE_MS = 10;

/** Bodies of almost the default limit. */
const BODY_BYTES = 990_000;

/** How long an answer is waited for, in milliseconds: the stall was at the beginning. */
const PATIENCE_MS = 3_000;

const IS_WRITTEN = process.env.SVC_WRITE_STALLS !== undefined;
const PAGE = join(import.meta.dir, "..", "..", "docs", "stalls.md");

/** Sockets, and what is read as a stream, have no body and stay open. */
const ROUTES = operations.flatMap((operation) => {
  const { http } = operation;
  const staysOpen = http?.socket || (http?.stream && http.method === "GET");
  return http && !staysOpen ? [{ ...operation, http }] : [];
});

interface Row {
  readonly route: string;
  readonly what: string;
  readonly ms: number;
}

/** Requests that were answered with 500. */
const broken: string[] = [];

const { ask, said } = useStallHost();

async function stallOf(
  operation: Operation | undefined,
  { what, path, body }: StallRequest,
): Promise<number> {
  await ask("longest");
  const isKeyed = operation !== undefined && takesIdempotencyKey(operation);
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(isKeyed && { "idempotency-key": `"${crypto.randomUUID()}"` }),
  };
  const method = operation?.http?.method ?? (body === undefined ? "GET" : "POST");
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(`${said().url}${path}`, { method, headers, body, signal }).catch(
    () => undefined,
  );
  const text = await response?.text().catch(() => "");
  // WebDriver has this status for failures that are expected.
  if (response?.status === 500 && text?.includes("internal error"))
    broken.push(`${path.slice(0, 100)} ${what}`);
  return ask("longest");
}

/** The worst of `requests`. One above `limit` is made again: a compiler or a collection of garbage may have been at work. */
async function worst(
  route: string,
  operation: Operation | undefined,
  requests: Iterable<StallRequest>,
  limit: number,
): Promise<Row> {
  let found: Row = { route, what: "", ms: 0 };
  for (const request of requests) {
    let ms = await stallOf(operation, request);
    for (let again = 0; ms > limit / 2 && ms > found.ms && again < 3; again++)
      ms = Math.min(ms, await stallOf(operation, request));
    if (ms > found.ms) found = { route, what: request.what, ms };
  }
  return found;
}

test(
  "no request keeps the event loop for more than 50 ms",
  async () => {
    const factor = Math.max(1, (await ask("baseline")) / BASELINE_MS);
    const limit = LONGEST_MS * factor;
    const rows: Row[] = [];
    const named = new Map(ROUTES.map((one) => [`${one.http.method} ${one.http.path}`, one]));
    for (const operation of ROUTES) {
      const { method, path } = operation.http;
      rows.push(
        await worst(`${method} ${path}`, operation, worstOf(operation, BODY_BYTES, IS_WRITTEN), limit),
      );
    }
    const routeOf = ({ route, path, body }: StallRequest) =>
      route ?? `${body === undefined ? "GET" : "POST"} ${path.replace(/\?.*/, "")}`;
    for (const [special, requests] of Map.groupBy(specialOf(BODY_BYTES), routeOf)) {
      const row = await worst(special, named.get(special), requests, limit);
      const before = rows.findIndex(({ route }) => route === row.route);
      expect({ route: row.route, before }).not.toMatchObject({ before: -1 });
      if (row.ms > (rows[before]?.ms ?? 0)) rows[before] = row;
    }
    if (IS_WRITTEN) writeFileSync(PAGE, pageOf(rows, factor));
    expect(broken).toEqual([]);
    expect(rows.filter(({ ms }) => ms > limit)).toEqual([]);
  },
  { timeout: 600_000 },
);

test("docs/stalls.md has every route", () => {
  const page = readFileSync(PAGE, "utf8");
  const listed = [...page.matchAll(/^\| `((?:GET|POST|DELETE) [^`]+)` \|/gm)].map(([, route]) => route);
  expect(listed.toSorted()).toEqual(ROUTES.map(({ http }) => `${http.method} ${http.path}`).toSorted());
});

function pageOf(rows: readonly Row[], factor: number): string {
  const [top, rest] = readFileSync(PAGE, "utf8").split("<!-- table -->");
  if (rest === undefined) throw new Error("docs/stalls.md: expected <!-- table -->");
  const lines = rows
    .toSorted((a, b) => b.ms - a.ms)
    .map(
      ({ route, what, ms }) =>
        `| \`${route}\` | ${what.replaceAll("|", "\\|").slice(0, 60) || "none"} | ${(ms / factor).toFixed(1)} |`,
    );
  const table = ["| route | input that takes the longest | ms |", "|---|---|---|", ...lines].join("\n");
  return `${top}<!-- table -->\n\n${table}\n`;
}
