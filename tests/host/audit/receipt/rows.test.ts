/** Which rows a receipt of a run has: whoever knows the id of a run can leave rows that have it, and spoils no receipt. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rowsWith } from "../../../../src/host/audit/receipt/make";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { type Envelope, envelopeText } from "../../../../src/wire/receipt/dsse";
import { createRunRecord } from "../../../../src/wire/receipt/run-record";
import { MAX_ROWS } from "../../../../src/wire/receipt/statement";
import { gaps } from "../../../support";
import { type ProvenRun, provenRun, statementOf } from "./support";

setDefaultTimeout(60_000);

let made: ProvenRun;

beforeAll(async () => {
  made = await provenRun();
});
afterAll(() => made[Symbol.asyncDispose]());

const row = (event_type: string, detail: string) => ({ event_type, detail, host_id: null, viewer_id: null });

/** What the receipt of the run has now. */
async function madeAgain(id = made.report.run_id) {
  const envelope = (await made.receipts.ofRun({ run_id: id, started_at: "" }, false)) as Envelope;
  const { ok, reason } = verifyReceipt(envelopeText(envelope), { ...made.trust, witnesses: [] });
  return { verdict: ok ? "accepted" : reason, rows: statementOf(envelope).predicate.rows };
}

const append = (details: ReadonlyArray<ReturnType<typeof row>>) =>
  Promise.all(details.map((one) => made.audit.append(one)));

/** A row for each of so many requests. */
const requests = (count: number, detailOf: (nth: number) => string) =>
  Array.from({ length: count }, (_, nth) => row("rest_api", detailOf(nth)));

describe("a receipt of a run", () => {
  test("has no row of a request that has the id in its path, or in a value, however many there are", async () => {
    const { run_id } = made.report;
    const before = await madeAgain();
    await append([
      ...requests(2 * MAX_ROWS, (nth) => `GET /run=${run_id}/${nth} -> unauthorized`),
      ...requests(100, (nth) => `GET /plans/run=${run_id}/${nth} -> failed:404 token=eve`),
      ...requests(100, () => `POST /jobs/add -> started jobs.add name="run=${run_id}" token=eve`),
    ]);
    expect(await madeAgain()).toMatchObject({ verdict: "accepted", rows: { length: before.rows.length } });
  });

  test("has the oldest rows of others about it, and no more than a hundred", async () => {
    const { run_id } = made.report;
    const { rows } = await madeAgain();
    const cancel = (nth: number) => `POST /runs/cancel -> started runs.cancel run=${run_id} token=eve-${nth}`;
    await append(requests(MAX_ROWS, cancel));
    const found = await madeAgain();
    expect(found.verdict).toBe("accepted");
    expect(found.rows).toHaveLength(rows.length + 100);
    expect(found.rows.at(rows.length)?.detail).toBe(cancel(0));
  });

  test("has its own end, whatever row says so later", async () => {
    const { run_id } = made.report;
    const zeros = "0".repeat(64);
    await append([row("run", `run=${run_id} ended status=error rows=1:${zeros} outcomes=0:${zeros}`)]);
    expect((await madeAgain()).verdict).toBe("accepted");
  });

  test("has the newest yes to what it needed, and what asked for that, of all that were asked and given", async () => {
    const digest = "d".repeat(64);
    const about = (id: string) => `id=${id} what="x" digest=${digest} asked_by=bob`;
    const asked = (id: string) => row("approval", `approvals.ask ${about(id)}`);
    const given = (id: string) =>
      row("rest_api", `POST /approvals/allow -> started approvals.allow ${about(id)} token=anna`);
    const idOf = (nth: number) => nth.toString(16).padStart(8, "0");
    await append(Array.from({ length: MAX_ROWS }, (_, nth) => asked(idOf(nth))));
    await append([given(idOf(3)), given(idOf(7))]);
    const id = await ranAlone(`approved=sha256:${digest} `, 1);
    const { verdict, rows } = await madeAgain(id);
    expect(verdict).toBe("accepted");
    expect(rows.map(({ detail }) => detail).filter((detail) => detail?.includes("approvals."))).toEqual([
      asked(idOf(7)).detail,
      given(idOf(7)).detail,
    ]);
  });

  test("is not made where it would have more rows than whoever verifies it reads", async () => {
    const id = await ranAlone("", MAX_ROWS - 2);
    const whole = await madeAgain(id);
    expect([whole.verdict, whole.rows.length]).toEqual(["accepted", MAX_ROWS]);
    const tooLong = await ranAlone("", MAX_ROWS - 1);
    expect(madeAgain(tooLong)).rejects.toThrow(
      `run ${tooLong} has no receipt: it left ${MAX_ROWS + 1} rows, and a receipt has at most ${MAX_ROWS}`,
    );
  });
});

/** Leaves the rows of a run that has changed something so often. @param front what stands before them. */
async function ranAlone(front: string, changes: number): Promise<string> {
  const id = crypto.randomUUID();
  const rows: Array<ReturnType<typeof row>> = [];
  const record = createRunRecord(
    id,
    async (subject) => void rows.push(row("api", `${front}${subject}`)),
    (detail) => void rows.push(row("run", detail)),
  );
  await record.announce(`run=${id} commands=AC_config_export args=sha256:${"a".repeat(64)}`);
  for (let nth = 0; nth < changes; nth++) await record.announce(`run=${id} config.export`);
  record.end("ok", [], null);
  await append(rows);
  return id;
}

test("others are answered while the rows of many receipts are looked for", async () => {
  await append(requests(20_000, (nth) => `GET /status/${nth} -> ok:200 ${"x".repeat(200)}`));
  const search = { text: "run=nowhere", since: 0, matches: () => true };
  const { longest, took } = await gaps(() =>
    Promise.all(Array.from({ length: 24 }, () => rowsWith(made.audit, search))),
  );
  expect(longest).toBeLessThan(Math.max(took / 6, 15));
});
