/** Screens that differ, over HTTP, in scripts and by the watch of a desk: from hosts that answer, fail, or know no signatures. */
import { expect, test } from "bun:test";
import type { OddHost } from "../../../../src/desk/fleet/odd/rows";
import { createSignatures } from "../../../../src/host/desktop/screen/signature/signatures";
import { post, TOKEN, testServer, until } from "../../../support";
import { host } from "../support";
import { signature } from "./signed";

type Server = Awaited<ReturnType<typeof testServer>>;

/** A desk, and one host under so many labels, each with a look of its own at the windows that the test says. */
async function lab(windowsOf: (nth: number) => readonly string[], service: object = {}) {
  const one = await testServer();
  const desk = await testServer({ service });
  let asked = 0;
  const signatures = { onRecord: createSignatures(async () => signature()).onRecord };
  Object.assign(one.service, {
    signatures: async () => ({ ...signatures, get: async () => signature({ windows: windowsOf(asked++) }) }),
  });
  const book = await desk.service.addressBook();
  await book.addAll(
    [1, 2, 3, 4, 5].map((nth) => ({ ...host(`lab-${nth}`, one.server.url, "kiosk"), token: TOKEN })),
    false,
  );
  return {
    ...{ one, desk, book },
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
    },
  };
}

interface Answer {
  readonly hosts: ReadonlyArray<OddHost>;
  readonly count: number;
  readonly odd: number;
}

const ask = async ({ call }: Pick<Server, "call">, input: object): Promise<Answer> => {
  const answer = await call("/admin/odd", post(input));
  if (answer.status !== 200) throw new Error(await answer.text());
  return (await answer.json()) as Answer;
};

test("the host that differs comes first, with the reason; it is on record here and there", async () => {
  await using made = await lab((nth) => (nth % 5 === 0 ? ["Till", "Update failed"] : ["Till"]));
  const { hosts, count, odd } = await ask(made.desk, { on: "tag:kiosk" });
  expect([count, odd]).toEqual([5, 1]);
  expect(hosts[0]).toMatchObject({
    ...{ state: "odd", score: 100, tag: "kiosk", others: 4 },
    why: 'it has a window "Update failed"; none of the 4 others has one',
  });
  expect(hosts.slice(1).map(({ state, score }) => [state, score])).toEqual(Array(4).fill(["alike", 0]));
  const rows = async ({ call }: Server, text: string) =>
    (await (await call("/audit/list")).text()).split(text).length - 1;
  const there = await rows(made.one, "screen.signature: compares");
  expect(there).toBeGreaterThan(0);
  await ask(made.desk, { on: "tag:kiosk" });
  expect(await rows(made.desk, "admin.odd on=")).toBe(1);
  expect(await rows(made.one, "screen.signature: compares")).toBe(there);
});

test("a host that fails, and one of before signatures, have their reasons, and make no other one odd", async () => {
  await using made = await lab(() => ["Till"]);
  // As an earlier svc answers what it does not know.
  using old = Bun.serve({
    port: 0,
    fetch: () => Response.json({ error: "no such route" }, { status: 404 }),
  });
  await made.book.addAll(
    [
      { ...host("old", `http://127.0.0.1:${old.port}`, "kiosk"), token: TOKEN },
      { ...host("gone", "http://127.0.0.1:9", "kiosk"), token: TOKEN },
    ],
    false,
  );
  const { hosts, odd } = await ask(made.desk, {});
  expect(odd).toBe(0);
  expect(hosts.slice(-2)).toEqual([
    { label: "gone", state: "failed", score: null, tag: null, others: 0, why: "connection refused" },
    {
      ...{ label: "old", state: "not_asked", score: null, tag: null, others: 0 },
      why: "not asked: its svc has no signatures of screens",
    },
  ]);
});

test("a desk that watches counts the hosts", async () => {
  await using made = await lab(() => ["Till"], { odd_on: "tag:kiosk" });
  const watch = await made.desk.service.oddWatch();
  watch?.start();
  await until("the first look", () => made.desk.service.oddNow());
  expect(made.desk.service.oddNow()).toEqual({ odd: 0, alike: 5, unknown: 0, longest_s: 0 });
  const metrics = await (await made.desk.call("/metrics")).text();
  expect(metrics).toContain('service_odd_hosts{state="alike"} 5');
  await watch?.stop();
});

test("a desk without --odd-on has no watch", async () => {
  await using desk = await testServer();
  expect(desk.service.oddWatch()).toBeUndefined();
  expect(await (await desk.call("/metrics")).text()).not.toContain("service_odd_hosts{");
});
