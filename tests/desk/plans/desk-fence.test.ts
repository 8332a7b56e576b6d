/** What a desk makes of hosts that know, or do not know, which desk a job is of. The hosts are made up. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createDelivery } from "../../../src/desk/plans/deliver";
import { type DeskFence, NO_FENCE } from "../../../src/desk/plans/desk-fence";
import { openSigningKey } from "../../../src/trust/identity";
import type { DeliverOptions, Target } from "../../../src/wire/job/job";
import { TAKEN_OVER } from "../../../src/wire/join/office";
import { madeUpJob } from "../../host/jobs/support";
import { TOKEN, temporaryFolder } from "../../support";

using folder = temporaryFolder();
const key = openSigningKey(join(folder.path, "desk_key"));

/** A host that answers so about jobs. */
function hostWith(answer: (path: string, envelope: Record<string, unknown>) => Response) {
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = (await request.json()) as { envelope?: string };
      asked.push(pathname);
      return answer(pathname, JSON.parse(body.envelope ?? "{}"));
    },
  });
  const target: Target = {
    label: "lab-01",
    server: { url: `http://127.0.0.1:${server.port}`, token: TOKEN, trust: { kind: "any" } },
    host_id: "0".repeat(32),
  };
  return { asked, target, [Symbol.asyncDispose]: () => server.stop(true) };
}

const refused = (status: number, error: string, more = {}) => Response.json({ error, ...more }, { status });

/** How a delivery ends there. */
const delivered = (target: Target, fence: Partial<DeskFence>, more: Partial<DeliverOptions> = {}) =>
  createDelivery(() => key, {}, { ...NO_FENCE, ...fence }).deliver(target, madeUpJob(), {
    ...{ signal: new AbortController().signal, client: null, sent() {}, running() {} },
    ...more,
  });

const OFFICE = { line: "", generation: 3 };

test("a host that has gone back to an earlier svc gets the job without what it does not understand", async () => {
  let knows = true;
  await using host = hostWith((_path, { office, id }) =>
    office
      ? refused(400, "envelope: expected that of a job (office)")
      : Response.json({ id, state: "expired", outcome: null, records: "r" }),
  );
  const fence = {
    officeFor: async () => (knows ? OFFICE : undefined),
    forget: () => {
      knows = false;
    },
  };
  expect(await delivered(host.target, fence)).toMatchObject({ state: "expired" });
  expect(host.asked).toHaveLength(2);
});

test("a job that its host does not understand for another reason is refused, and not sent without its office", async () => {
  await using host = hostWith(() => refused(400, "envelope: expected that of a job (nbf)"));
  const fence = { officeFor: async () => OFFICE };
  expect(await delivered(host.target, fence)).toMatchObject({ state: "refused" });
  expect(host.asked).toEqual(["/plans/jobs"]);
});

const OF_FORMER = () => refused(409, "this desk was taken over", { code: TAKEN_OVER });

test("a desk that only asks about a job which it had sent hears that it was taken over", async () => {
  await using host = hostWith(OF_FORMER);
  let heard = 0;
  const isOver = async () => ++heard > 0;
  const ended = await delivered(host.target, { isOver }, { before: "job" });
  expect(ended).toMatchObject({ state: "lost" });
  expect(heard).toBeGreaterThan(0);
});

test("a desk that cancels a job hears it too", async () => {
  await using host = hostWith(OF_FORMER);
  let heard = 0;
  const isOver = async () => ++heard > 0;
  const { cancel } = createDelivery(() => key, {}, { ...NO_FENCE, isOver });
  const options = { signal: new AbortController().signal, client: null };
  expect(await cancel(host.target, madeUpJob(), options)).toBe(false);
  expect(heard).toBe(1);
});

test("a host that cannot hear which desk this is gets nothing, neither a job nor a list", async () => {
  const { RemoteError } = await import("../../../src/client/carrier");
  await using host = hostWith(() => refused(500, "internal error"));
  for (const status of [500, 409, 400]) {
    const fault = new RemoteError("answer", `HTTP ${status}`, false, { status, error: "it is full" });
    const officeFor = () => Promise.reject(fault);
    const ended = await delivered(host.target, { officeFor }, { orExecute: true });
    expect(ended).toMatchObject({
      state: status === 500 ? "offline" : "refused",
      result: { delivered: false },
    });
  }
  expect(host.asked).toEqual([]);
});
