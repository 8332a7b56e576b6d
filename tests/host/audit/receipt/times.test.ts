/** What the clocks of witnesses say against a host that was taken over, and has a yes of before. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { AuditLog } from "../../../../src/host/audit/log";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { provenRun, seenAfter, yesOf } from "./support";

setDefaultTimeout(60_000);

const HOUR = 3_600;
const DAY = 24 * HOUR;
const DIGEST = "d".repeat(64);
const ID = "12345678";

interface Yes {
  /** In seconds from `SEEN`. */
  readonly expires?: number;
  readonly host?: string;
  readonly askedBy?: string;
}

/** Leaves the rows of a yes that a passkey has signed. @returns what stands in front of the rows of the run that needed it. */
const allowed =
  ({ expires = 300, host, askedBy = "bob" }: Yes) =>
  async (audit: AuditLog, own: string): Promise<string> => {
    const word = yesOf({
      ...{ host: host ?? `urn:svc:host:${own}`, holder: "anna", expires: seenAfter(expires) },
      what: "approvals.allow",
      terms: { id: ID, digest: DIGEST, asked_by: askedBy },
    });
    const about = `id=${ID} what="x" digest=${DIGEST} asked_by=${askedBy}`;
    const rows = [
      ["approval", `approvals.ask ${about}`],
      ["rest_api", `POST /approvals/allow -> started approvals.allow ${about} passkey=${word} token=anna`],
    ] as const;
    for (const [event_type, detail] of rows)
      await audit.append({ event_type, detail, host_id: null, viewer_id: null });
    return `approved=sha256:${DIGEST} `;
  };

async function verdictOf(seen: readonly [number, number], yes?: Yes) {
  await using made = await provenRun({}, { seen, ...(yes && { before: allowed(yes) }) });
  const asked = verifyReceipt(made.text, made.trust);
  const unasked = verifyReceipt(made.text, { ...made.trust, witnesses: [] });
  return { asked, unasked, inTime: [asked, unasked].map(({ runs }) => runs[0]?.yes_in_time) };
}

describe("a yes of a passkey", () => {
  test("that the witnesses know to be in its time is said to be", async () => {
    const { asked, inTime } = await verdictOf([0, 60], {});
    expect([asked.ok, asked.reason]).toEqual([true, null]);
    // Without a witness, that is the word of the host.
    expect(inTime).toEqual([true, false]);
  });

  test("of before is refused in the log of today, whatever time the host has given to its row", async () => {
    const { asked } = await verdictOf([2 * HOUR, 2 * HOUR + 60], {});
    expect(asked).toMatchObject({
      ok: false,
      reason: `the yes to ${ID} was over before its row came, by the clocks of the witnesses`,
    });
  });

  test("is not said to be in its time where the witnesses know no more than that it may have been", async () => {
    const { asked, inTime } = await verdictOf([0, 3 * HOUR], {});
    expect([asked.ok, inTime]).toEqual([true, [false, false]]);
  });

  test("to another host is refused", async () => {
    const host = `urn:svc:host:${"f".repeat(32)}`;
    expect((await verdictOf([0, 60], { host })).unasked.reason).toBe(
      `the yes to ${ID} was given to another host`,
    );
  });

  test("to what a token asked that is called as rows call the token of the host is good", async () => {
    const { asked } = await verdictOf([0, 60], { askedBy: "owner" });
    expect([asked.ok, asked.reason]).toEqual([true, null]);
    expect(asked.runs[0]?.run.allowed).toMatchObject([{ asked_by: "owner", allowed_by: "anna" }]);
  });
});

test("a row with a time far from when the witnesses know that it came is refused", async () => {
  const { asked, unasked } = await verdictOf([30 * DAY, 30 * DAY + 60]);
  expect(asked.ok).toBe(false);
  expect(asked.reason).toEndWith(
    `, but by the witnesses it came between ${seenAfter(30 * DAY)} and ${seenAfter(30 * DAY + 60)}`,
  );
  expect(unasked.ok).toBe(true);
  expect((await verdictOf([-30 * DAY, -30 * DAY + 60])).asked.ok).toBe(false);
});

test("the clock of a host may be off by hours", async () => {
  for (const hours of [-20, 20]) {
    const { asked } = await verdictOf([hours * HOUR, hours * HOUR + 60]);
    expect({ hours, reason: asked.reason }).toEqual({ hours, reason: null });
  }
});
