/** What the rows of a run say, and that rows which say less, more or something else say nothing. */
import { describe, expect, test } from "bun:test";
import { claimsOf, type RunRow } from "../../../../src/host/audit/receipt/claims";
import { createRunRecord } from "../../../../src/wire/receipt/run-record";
import { yesOf } from "./support";

const RUN = "7d3f0c52-1111-4000-8000-000000000000";
const SCRIPT = "a".repeat(64);
const DIGEST = "d".repeat(64);

const rowOf = (event_type: string, detail: string): Omit<RunRow, "index"> => ({
  ...{ event_type, detail, ts: "2026-04-01T10:00:00.000Z", host_id: null, viewer_id: null },
});

const placed = (rows: ReadonlyArray<Omit<RunRow, "index">>): RunRow[] =>
  rows.map((row, index) => ({ ...row, index }));

/** What a run leaves that announces twice. @param before what stands in front in its rows. */
async function rowsOfRun(before = ""): Promise<Array<Omit<RunRow, "index">>> {
  const rows: Array<Omit<RunRow, "index">> = [];
  const record = createRunRecord(
    RUN,
    async (subject) => void rows.push(rowOf("api", `${before}${subject}`)),
    (detail) => void rows.push(rowOf("run", detail)),
  );
  await record.announce(`run=${RUN} commands=AC_config_export args=sha256:${SCRIPT}`);
  await record.announce(`run=${RUN} config.export`);
  record.end("ok", [], null);
  return rows;
}

describe("the rows of a run", () => {
  test("say what it was", async () => {
    expect(claimsOf(RUN, placed(await rowsOfRun()))).toMatchObject({
      ...{ id: RUN, status: "ok", commands: ["AC_config_export"], script_sha256: SCRIPT, allowed: [] },
    });
  });

  test("end with a row of their own type, not with what only says so", async () => {
    const rows = await rowsOfRun();
    const said = `${rows.at(-1)?.detail}`.replace("status=ok", "status=error");
    expect(claimsOf(RUN, placed([...rows, rowOf("test", said)])).status).toBe("ok");
  });

  test("with two ends are refused", async () => {
    const rows = await rowsOfRun();
    const twice = [...rows, rowOf("run", `${rows.at(-1)?.detail}`.replace("status=ok", "status=error"))];
    expect(() => claimsOf(RUN, placed(twice))).toThrow(`one row of the end of run ${RUN}, but found 2`);
  });

  test("whose begin is behind the end are refused", async () => {
    const [begin, own, end] = placed(await rowsOfRun());
    if (!begin || !own || !end) throw new Error("no rows");
    expect(() => claimsOf(RUN, [own, end, { ...begin, index: 9 }])).toThrow("the begin of run");
  });

  test("of which one was exchanged for another of its kind are refused", async () => {
    const [begin, , end] = await rowsOfRun();
    if (!begin || !end) throw new Error("no rows");
    const other = rowOf("api", `run=${RUN} config.import`);
    expect(() => claimsOf(RUN, placed([begin, other, end]))).toThrow("by their digest");
  });
});

const ask = (id: string, digest = DIGEST) =>
  rowOf("approval", `approvals.ask id=${id} what="x" digest=${digest} asked_by=bob`);
const allow = (id: string, digest = DIGEST) =>
  rowOf(
    "rest_api",
    `POST /approvals/allow -> started approvals.allow id=${id} what="x" digest=${digest} client=127.0.0.1 asked_by=bob token=anna`,
  );

describe("the rows of a run that a person has allowed", () => {
  const allowedOf = async (
    before: ReadonlyArray<Omit<RunRow, "index">>,
    after: ReadonlyArray<Omit<RunRow, "index">> = [],
  ) =>
    claimsOf(RUN, placed([...before, ...(await rowsOfRun(`approved=sha256:${DIGEST} `)), ...after])).allowed;

  test("say who asked for it, and who allowed it", async () => {
    expect(await allowedOf([ask("12345678"), allow("12345678")])).toMatchObject([
      { id: "12345678", digest: DIGEST, asked_by: "bob", allowed_by: "anna" },
    ]);
  });

  test("after it had begun are refused", async () => {
    await expect(allowedOf([ask("12345678")], [allow("12345678")])).rejects.toThrow("are missing");
  });

  test("by a yes to another question are refused", async () => {
    await expect(allowedOf([ask("12345678"), allow("87654321")])).rejects.toThrow("are missing");
  });

  test("by a yes to something else are refused", async () => {
    const other = allow("12345678", "e".repeat(64));
    await expect(allowedOf([ask("12345678"), other])).rejects.toThrow("a row of something else");
  });

  test("in one of two things that it needed are refused", async () => {
    const other = "e".repeat(64);
    const rows = [
      ...[ask("12345678"), allow("12345678"), ask("87654321", other)],
      ...(await rowsOfRun(`approved=sha256:${DIGEST} approved=sha256:${other} `)),
    ];
    expect(() => claimsOf(RUN, placed(rows))).toThrow("are missing");
    const both = [...rows.slice(0, 3), allow("87654321", other), ...rows.slice(3)];
    expect(claimsOf(RUN, placed(both)).allowed).toHaveLength(2);
  });

  test("by a row that does not say who gave the yes are refused", async () => {
    const yes = allow("12345678");
    const odd = { ...yes, detail: `${yes.detail}`.replace(" token=anna", " other=1 token=anna") };
    await expect(allowedOf([ask("12345678"), odd])).rejects.toThrow("does not say who gave it");
  });

  test("with a passkey are refused where another yes was signed, or by another", async () => {
    const terms = { id: "12345678", digest: DIGEST, asked_by: "bob" };
    const good = { host: "h", holder: "anna", expires: "2026-04-01T10:05:00.000Z", terms };
    const what = "approvals.allow";
    const claims = (asked: object) => {
      const word = yesOf({ ...good, what, ...asked });
      const yes = allow("12345678");
      const detail = `${yes.detail}`.replace(" token=anna", ` passkey=${word} token=anna`);
      return allowedOf([ask("12345678"), { ...yes, detail }]);
    };
    expect(await claims({})).toMatchObject([
      { allowed_by: "anna", passkey: { origin: "https://localhost" } },
    ]);
    const others = [
      { holder: "eve" },
      { holder: null },
      { what: "lease.allow" },
      { terms: { ...terms, id: "87654321" } },
      { terms: { ...terms, digest: "e".repeat(64) } },
      { terms: { ...terms, asked_by: "eve" } },
      { terms: { ...terms, asked_by: "owner" } },
      { terms: { ...terms, asked_by: null } },
    ];
    for (const other of others)
      await expect(claims(other)).rejects.toThrow("is not the approval 12345678, or not by who allowed it");
    await expect(claims({ expires: "2026-04-01T08:59:00.000Z" })).rejects.toThrow("was over before the row");
  });

  test("by a row that only looks like a question or a yes are refused", async () => {
    const [asked, allowed] = [ask("12345678"), allow("12345678")];
    await expect(allowedOf([{ ...asked, event_type: "rest_api" }, allowed])).rejects.toThrow();
    await expect(allowedOf([asked, { ...allowed, event_type: "approval" }])).rejects.toThrow();
  });
});
