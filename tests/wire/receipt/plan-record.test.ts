/** Which rows of a desk are decisions about a plan, and that what others write into their rows is none. */
import { expect, test } from "bun:test";
import { decisionIn, digestOfTargets, planEndIn, planEndText } from "../../../src/wire/receipt/plan-record";

const PLAN = "7d3f0c52-1111-4000-8000-000000000000";
const RUN = "9f1c2e4a-1111-4000-8000-000000000000";
const HEX = "a".repeat(64);

test("a decision is found in the row of a request, an agent, a command, a run, a job and an approval", () => {
  const fronts = [
    "",
    "POST /plans/7d3f0c52/pause -> started ",
    "mcp -> started ",
    `run=${RUN} `,
    `POST /execute -> started run=${RUN} `,
    `POST /mcp -> started approved=sha256:${HEX} run=${RUN} `,
    `POST /plans/jobs -> started plan=${RUN} job=${RUN} signed content=sha256:${HEX} run=${RUN} `,
    `plan=${RUN} job=${RUN} content=sha256:${HEX} run=${RUN} `,
  ];
  for (const front of fronts) {
    const detail = `${front}plan.pause id=${PLAN} token=anna`;
    expect({ detail, found: decisionIn(PLAN, detail) }).toEqual({
      detail,
      found: { verb: "pause", rest: " token=anna" },
    });
  }
  // As an earlier svc has written it, where the whole id was given.
  expect(decisionIn(PLAN, `plan.retry id="${PLAN}" state=["failed"]`)?.verb).toBe("retry");
});

test("no decision is what failed, is about another plan, or only quotes one", () => {
  const others = [
    null,
    "",
    `plan.pause id=${RUN}`,
    `plan.pause id=${PLAN.slice(0, 8)}`,
    `plan.pause id=${PLAN}x`,
    `plan.show id=${PLAN}`,
    `POST /plans/x/pause -> ok:200 plan.pause id=${PLAN}`,
    `POST /plans/x/pause -> failed:409 plan.pause id=${PLAN}`,
    `GET /plan.pause%20id=${PLAN} -> unauthorized`,
    `GET /x -> unauthorized plan.pause id=${PLAN}`,
    `plan.new on="plan.pause id=${PLAN}" hosts=1`,
    `POST /jobs/add -> started jobs.add name="plan.pause id=${PLAN}"`,
    `POST /jobs/add -> started jobs.add name="x -> started plan.pause id=${PLAN}"`,
    `a b c -> started plan.pause id=${PLAN}`,
  ];
  expect(others.filter((detail) => decisionIn(PLAN, detail))).toEqual([]);
});

test("the row of the end of a plan is read as it was written, and no other is", () => {
  const end = { state: "done", rows: 3, rowsDigest: HEX, hosts: 40, hostsDigest: "b".repeat(64) };
  const detail = planEndText(PLAN, end);
  expect(planEndIn(PLAN, detail)).toEqual(end);
  for (const other of [null, `${detail} token=eve`, ` ${detail}`, detail.replace("ended", "began")])
    expect(planEndIn(PLAN, other)).toBe(undefined);
  expect(planEndIn(RUN, detail)).toBe(undefined);
});

test("the digest of what became of hosts is that of the JSON of all of them, however many there are", () => {
  for (const count of [0, 1, 3, 5_000]) {
    const targets = Array.from({ length: count }, (_, n) => ({
      ...{ label: `h${n}`, identity: `id"${n}\u00e9` },
      ...{ state: n % 3 === 0 ? "unreachable" : "ok", run_id: n % 3 === 0 ? null : RUN },
    }));
    const list = targets.map(({ identity, state, run_id }) => [identity, state, run_id]);
    const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(list)).digest("hex");
    expect(digestOfTargets(targets.values())).toBe(digest);
  }
});
