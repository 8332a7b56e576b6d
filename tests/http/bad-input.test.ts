/** Bad input to every operation of the table, over HTTP and as a command: 400, and never a crash or a hang. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { checkInput } from "../../src/core/input";
import type { InputSchema } from "../../src/core/operation";
import { entryOf } from "../../src/core/schema";
import { fromQuery } from "../../src/core/text";
import { importConfig } from "../../src/host/config/operations";
import { isNullLeftOut } from "../../src/host/runs/action-fields";
import { Failure } from "../../src/lib/errors";
import { operations } from "../../src/operations";
import { isThorough, post, testServer } from "../support";

let host: Awaited<ReturnType<typeof testServer>>;
beforeAll(async () => {
  host = await testServer();
});
afterAll(() => host[Symbol.asyncDispose]());

/** Values that break what was not written with them in mind. */
const hostileValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    "",
    "x".repeat(5_000),
    "\u0000",
    "../../etc/passwd",
    "${x}",
    "\ud800",
    "1e9",
  ),
  fc.constantFrom<unknown>(
    -1,
    0.5,
    2 ** 53,
    -(2 ** 31),
    1e308,
    [],
    [[]],
    {},
    { length: -1 },
    { toString: 1 },
  ),
  fc.jsonValue({ maxDepth: 4 }),
);

/** Inputs that have some of the schema's fields, with hostile values, and perhaps another field. */
function hostileInput({ entries }: InputSchema) {
  const fields = Object.fromEntries(Object.keys(entries).map((name) => [name, hostileValue]));
  const strange = fc.dictionary(
    fc.constantFrom("__proto__", "constructor", "toString", "nope"),
    hostileValue,
  );
  return fc
    .tuple(
      fc.record(fields, { requiredKeys: [] }),
      fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, strange),
    )
    .map(([known, other]) => ({ ...known, ...other }));
}

const anyBody = (schema: InputSchema) =>
  fc.oneof({ weight: 4, arbitrary: hostileInput(schema) }, fc.jsonValue());
const isBad = (schema: InputSchema, input: unknown) => !checkInput(schema, input).ok;
const runs = { numRuns: isThorough ? 60 : 20 };

describe("over HTTP, bad input is a 400 with an error:", () => {
  for (const { http, input: schema, name } of operations) {
    if (!http || http.path.includes("{") || http.content || http.public) continue;
    test(`${http.method} ${http.path} (${name})`, async () => {
      const property =
        http.method === "POST"
          ? fc.asyncProperty(anyBody(schema), async (body) => {
              fc.pre(isBad(schema, body));
              await expectBadInput(host.call(http.path, post(body)));
            })
          : fc.asyncProperty(
              fc.dictionary(
                fc.oneof(fc.constantFrom(...Object.keys(schema.entries), "nope"), fc.string()),
                fc.string(),
              ),
              async (query) => {
                const search = new URLSearchParams(query);
                fc.pre(isBadQuery(schema, search));
                await expectBadInput(host.call(`${http.path}?${search}`));
              },
            );
      await fc.assert(property, runs);
    });
  }
});

describe("as a command, bad arguments are a 400 before anything runs:", () => {
  for (const { command, input: schema } of operations) {
    if (!command) continue;
    test(command, async () => {
      const property = fc.asyncProperty(hostileInput(schema), async (given) => {
        // What contains `${` is checked when it is filled in.
        fc.pre(isBad(schema, withoutNulls(schema, given)) && !JSON.stringify(given).includes("${"));
        await expectBadInput(
          host.call("/execute", post({ actions: [["AC_rest_api_status"], [command, given]] })),
        );
      });
      await fc.assert(property, runs);
    });
  }
});

/** What of the arguments counts in a script, where null is as good as nothing for a field that may be left out. */
const withoutNulls = (schema: InputSchema, given: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([field, value]) => value !== null || !isNullLeftOut(entryOf(schema, field)),
    ),
  );

function isBadQuery(schema: InputSchema, query: URLSearchParams): boolean {
  try {
    return isBad(schema, fromQuery(schema, query));
  } catch (error) {
    return error instanceof Failure;
  }
}

async function expectBadInput(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  const body = (await response.json()) as Record<string, unknown>;
  expect({ status: response.status, error: typeof body.error }).toEqual({ status: 400, error: "string" });
}

test("what was expected is said in words", async () => {
  const error = async (path: string) => ((await (await host.call(path)).json()) as { error: string }).error;
  expect(await error("/audit/list?before_id=1.5")).toBe("before_id: expected a whole number but found 1.5");
  expect(await error("/inspector/recent?session=")).toBe("session: must not be empty");
  expect(checkInput(importConfig.input, {})).toMatchObject({
    offences: [{ field: "bundle", message: "missing: expected any value" }],
  });
});
