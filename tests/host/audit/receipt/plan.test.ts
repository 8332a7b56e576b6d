/** Receipts of plans: the desk and its hosts in one file. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { requireAlike } from "../../../../src/host/audit/receipt/plan-content";
import { verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { commitmentOf, digestOfContents } from "../../../../src/wire/job/plan-digest";
import type { Envelope } from "../../../../src/wire/receipt/dsse";
import { statementIn } from "../../../../src/wire/receipt/file";
import { digestOfTargets } from "../../../../src/wire/receipt/plan-record";
import type { PlanStatement, PlanTarget } from "../../../../src/wire/receipt/statement";
import { parseVerifierKey } from "../../../../src/wire/witness/signed-note";
import { newWitness } from "../witness/support";
import { type Change, CONTENT, type Given, OTHER, PLAN, provenPlan, SPEC, whyOf } from "./plan-support";
import { SEEN, seenAfter, statementOf, yesOf } from "./support";

setDefaultTimeout(60_000);

test("the receipt of a plan has those of its hosts, and names the hosts without one", async () => {
  await using made = await provenPlan();
  const { ok, reason, plan, runs } = made.verdict();
  expect([ok, reason]).toEqual([true, null]);
  expect(plan).toMatchObject({ id: PLAN, hosts: 2, missing: [{ label: "lab-02", why: "it is off" }] });
  expect(plan?.decided).toMatchObject([
    { what: "apply", surface: "rest_api", client: null, token: null, passkey: null },
  ]);
  const run = { status: "ok", plan: { id: PLAN, signed: true } };
  expect(runs).toMatchObject([{ label: "lab-01", run, content_shown: true }]);
});

test("that of which something was left out or exchanged is refused", async () => {
  await using made = await provenPlan({ decided: [`plan.pause id=${PLAN}`] });
  const { why, other, envelope, digestOf, otherRun } = made;
  const first = ({ predicate }: PlanStatement) => predicate.targets[0] ?? {};
  const zeros = "0".repeat(64);
  const strange = newWitness("svc.witness/desk").vkey;
  const refused: Record<string, readonly [found: string | null, expected: string]> = {
    "the receipt of a host": [why(() => {}, []), "the receipt of lab-01 was left out"],
    "the key of its log": [why((one) => Object.assign(first(one), { log_key: null })), "was left out"],
    "another key of its log": [
      why((one) => Object.assign(first(one), { log_key: strange })),
      "with another key than",
    ],
    "a host": [why(({ predicate }) => predicate.targets.pop()), "the digest of the plan"],
    "a limit": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: "{}" })),
      "the digest of the plan",
    ],
    "limits in another spelling": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: JSON.stringify(SPEC, null, 1) })),
      "the limits of the plan as JSON",
    ],
    "limits that are none": [
      why(({ predicate }) => Object.assign(predicate.plan, { spec: "[" })),
      "the limits of the plan as JSON",
    ],
    "the digest": [
      why(({ predicate }) => Object.assign(predicate.plan, { digest: zeros })),
      "the digest of the plan",
    ],
    "the subject": [
      why(({ subject }) => Object.assign(subject[0]?.digest ?? {}, { sha256: zeros })),
      "its subject is not the plan",
    ],
    "the row by which it was applied": [
      why(({ predicate }) => {
        predicate.rows = predicate.rows.filter(({ detail }) => !detail?.includes("plan.apply"));
      }),
      "no row of the desk says that the plan was applied",
    ],
    "a row of something else": [
      why(({ predicate }) => {
        const { rows, heads } = statementOf(other).predicate;
        predicate.rows.unshift(...rows);
        predicate.heads = heads;
      }),
      "does not name the plan",
    ],
    "the plan": [
      why(({ predicate }) => Object.assign(predicate.plan, { id: "another" })),
      "does not name the plan",
    ],
    "a receipt twice": [why(() => {}, [envelope, envelope]), "or one twice"],
    "who applied it": [
      why(({ predicate }) => Object.assign(predicate.plan, { applied_by: "anna" })),
      "that another has applied the plan",
    ],
    "a receipt more": [why(() => {}, [envelope, other]), "a host that the plan did not have"],
    "the run of another plan": [
      why((one) => Object.assign(first(one), { receipt_sha256: digestOf(other), run_id: otherRun }), [other]),
      "of another host, run or plan",
    ],
    "another run": [
      why((one) => Object.assign(first(one), { run_id: otherRun })),
      "of another host, run or plan",
    ],
    "another witness": [
      why(({ predicate }) => Object.assign(predicate, { witness: strange })),
      "has not cosigned one of the heads",
    ],
  };
  const wrong = Object.entries(refused).filter(([, [found, expected]]) => !found?.includes(expected));
  expect(wrong).toEqual([]);
});

test("the receipt of another host in the place of one is refused", async () => {
  await using made = await provenPlan({ identity: "c".repeat(32) });
  expect(made.why()).toBe("the receipt of lab-01 is of another host, run or plan");
});

describe("what the hosts ran", () => {
  const each = (...contents: readonly string[]) => {
    const shown = contents.map((one, nth) => {
      const key = `${nth}`.repeat(64);
      return { commitment: commitmentOf(key, one), key: nth === 0 ? key : null };
    });
    const content_sha256 = digestOfContents(shown.map(({ commitment }) => commitment));
    return { contents: "each", content_sha256, shown };
  };
  const LEFT_OUT = "what stands for the content of a host was left out";
  const SOMETHING_ELSE = "lab-01 ran something else than the plan was applied for";

  test("is what the digest of the plan is of, whatever the desk has signed", async () => {
    expect(await whyOf({ contents: "one" })).toBe(null);
    expect(await whyOf({ contents: "one", ran: OTHER })).toBe(SOMETHING_ELSE);
  });

  test("was signed by the desk, where the host has joined it", async () => {
    expect(await whyOf({ isSigned: false })).toContain("lab-01 ran what its desk had not signed");
    expect(await whyOf({ isSigned: false, identity: "http://10.0.0.7:9939" })).toBe(null);
  });

  test("began before the plan had expired", async () => {
    expect(await whyOf({ expires_s: 60 })).toBe(null);
    const HOUR = 3_600;
    // The clocks of the desk and its host may differ.
    expect(await whyOf({ expires_s: -HOUR + 60 })).toBe(null);
    expect(await whyOf({ expires_s: -HOUR - 60 })).toBe("lab-01 began after the plan had expired");
  });

  test("is not said to be shown for a plan of before, whose hosts may have had variables of their own", async () => {
    await using made = await provenPlan({ ran: OTHER });
    const { ok, runs } = made.verdict();
    expect([ok, runs[0]?.content_shown]).toEqual([true, false]);
    // All hosts of a plan run the same, or each has its own.
    expect(() => requireAlike([true, false])).toThrow("some hosts ran something else");
    for (const alike of [[true, true], [false, false], []]) requireAlike(alike);
  });

  test("is what the digest of the plan stands for, where each has its own", async () => {
    const own = each(CONTENT, OTHER);
    await using made = await provenPlan(own);
    const { ok, reason, runs } = made.verdict();
    expect([ok, reason, runs[0]?.content_shown]).toEqual([true, null, true]);
    const [first, second] = own.shown;
    const targets =
      (change: (all: PlanTarget[]) => unknown): Change =>
      ({ predicate }) =>
        change(predicate.targets);
    const ways: Record<string, readonly [found: string | null, expected: string]> = {
      "another content at the host": [await whyOf({ ...own, ran: "f".repeat(64) }), SOMETHING_ELSE],
      "the content of the other host": [await whyOf({ ...own, ran: OTHER }), SOMETHING_ELSE],
      "nothing of any": [made.why(targets((all) => all.map((one) => delete one.content))), LEFT_OUT],
      "nothing of the one that ran": [made.why(targets(([one]) => delete one?.content)), LEFT_OUT],
      "nothing of the other": [made.why(targets(([, one]) => delete one?.content)), LEFT_OUT],
      exchanged: [
        made.why(
          targets((all) =>
            all.map((one, nth) => Object.assign(one, { content: nth === 0 ? second : first })),
          ),
        ),
        "is not that of the contents of its hosts",
      ],
      "another content in place of it": [
        made.why(
          targets(([one]) =>
            Object.assign(one ?? {}, {
              content: { commitment: commitmentOf("9".repeat(64), OTHER), key: "9".repeat(64) },
            }),
          ),
        ),
        "is not that of the contents of its hosts",
      ],
      "another key": [
        made.why(targets(([one]) => Object.assign(one?.content ?? {}, { key: "9".repeat(64) }))),
        SOMETHING_ELSE,
      ],
      "no key": [
        made.why(targets(([one]) => Object.assign(one?.content ?? {}, { key: null }))),
        SOMETHING_ELSE,
      ],
      "where the plan has one for all": [
        await whyOf({ ...own, contents: "one", content_sha256: CONTENT }),
        "has no content for each host",
      ],
      "a kind that nobody knows": [
        await whyOf({ ...own, contents: "some" }),
        "the limits of the plan as JSON",
      ],
      "the kind of before, in the place of this": [
        made.why(({ predicate }) => {
          const { contents: _, ...rest } = JSON.parse(predicate.plan.spec);
          predicate.plan.spec = JSON.stringify(rest);
          for (const one of predicate.targets) delete one.content;
        }),
        "the digest of the plan",
      ],
    };
    expect(Object.entries(ways).filter(([, [found, expected]]) => !found?.includes(expected))).toEqual([]);
  });
});

describe("who had a plan run", () => {
  type About = Parameters<NonNullable<Given["applied"]>>[0];
  /** What follows in the row of a plan that a passkey has signed for. */
  const signed =
    (change: (about: About) => object = () => ({})) =>
    (about: About) => {
      const terms = { id: PLAN, digest: about.digest, hosts: 2, on: "all" };
      const good = {
        ...{ host: `urn:svc:host:${about.host}`, holder: "anna", expires: seenAfter(300) },
        ...{ what: "plan.apply", terms },
      };
      return ` passkey=${yesOf({ ...good, ...change(about) })} token=anna`;
    };

  test("is in the row, with what a passkey has signed, and by which clocks that was in its time", async () => {
    await using made = await provenPlan({ applied: signed() });
    const { ok, reason, plan } = made.verdict();
    expect([ok, reason]).toEqual([true, null]);
    expect(plan?.decided).toMatchObject([{ token: "anna", passkey: { origin: "https://localhost" } }]);
    expect(JSON.parse(plan?.decided[0]?.passkey?.text ?? "")).toMatchObject({
      terms: { id: PLAN, hosts: 2 },
    });
    // No witness has seen the log of the desk.
    expect(plan?.yes_in_time).toBe(false);
    const upper = newWitness("svc.witness/upper");
    const asked = { ...made.trust, witnesses: [parseVerifierKey(upper.vkey)] };
    const seenAt = (seconds: number) =>
      made.verdict(
        ({ predicate: { heads } }) =>
          Object.assign(heads, {
            before: upper.cosign(heads.before ?? "", SEEN + seconds),
            after: upper.cosign(heads.after, SEEN + seconds + 60),
          }),
        undefined,
        asked,
      );
    expect(seenAt(0)).toMatchObject({ ok: true, plan: { yes_in_time: true } });
    expect(seenAt(7_200).reason).toBe(
      `the yes to ${PLAN} was over before its row came, by the clocks of the witnesses`,
    );
    expect(seenAt(30 * 86_400).reason).toContain("but by the witnesses it came between");
  });

  test("is not said where a passkey has signed something else, or another's has, or elsewhere, or before", async () => {
    const terms =
      (change: object) =>
      ({ digest }: About) => ({
        terms: { id: PLAN, digest, hosts: 2, on: "all", ...change },
      });
    const NOT_THIS = "is not the plan, or not by who applied it";
    const ways: Record<string, readonly [asked: (about: About) => object, expected: string]> = {
      "another plan": [terms({ id: "another" }), NOT_THIS],
      "another digest": [terms({ digest: OTHER }), NOT_THIS],
      "another number of hosts": [terms({ hosts: 1 }), NOT_THIS],
      "an approval": [() => ({ what: "approvals.allow" }), NOT_THIS],
      "another holder": [() => ({ holder: "eve" }), NOT_THIS],
      "the host itself": [() => ({ holder: null }), NOT_THIS],
      "another desk": [() => ({ host: `urn:svc:host:${"f".repeat(32)}` }), "was given to another host"],
      "one of before": [() => ({ expires: seenAfter(-7_200) }), "was over before the row of it came"],
    };
    const found = await Promise.all(
      Object.entries(ways).map(async ([way, [asked, expected]]) => {
        const reason = await whyOf({ applied: signed(asked) });
        return reason?.includes(expected) ? [] : [[way, reason]];
      }),
    );
    expect(found.flat()).toEqual([]);
  });

  test("is not said by a row that is none, or does not say who it was", async () => {
    const none = "no row of the desk says that the plan was applied by its digest";
    expect(await whyOf({ applied: () => " passkey=AAAA token=anna" })).toContain(
      "is not signed as it should be",
    );
    expect(await whyOf({ applied: () => " other=1 token=anna" })).toContain("does not say by whom");
    const rowOf =
      (change: (detail: string) => string): Change =>
      ({ predicate: { rows } }) => {
        for (const one of rows) one.detail = change(`${one.detail}`);
      };
    // A desk that was taken over writes its rows anew, as far as no witness has seen them.
    const applied = async (detail: string) => {
      await using made = await provenPlan({ decided: [detail] });
      return made.why(({ predicate }) => {
        predicate.rows = predicate.rows.filter((one) => one.detail?.includes(detail));
      });
    };
    expect(await applied(`plan.pause id=${PLAN}`)).toBe(none);
    expect(
      await whyOf(
        {},
        rowOf((detail) => detail.replace("started ", "")),
      ),
    ).toContain("was edited");
  });
});

describe("the row of the end of a plan", () => {
  const decided = [`plan.pause id=${PLAN}`, `plan.resume id=${PLAN}`];

  test("shows that nothing was left out, and what became of it", async () => {
    await using made = await provenPlan({ decided, hasEnd: true });
    const { ok, reason, plan } = made.verdict();
    expect([ok, reason, plan?.whole]).toEqual([true, null, true]);
    const without =
      (text: string): Change =>
      ({ predicate }) => {
        predicate.rows = predicate.rows.filter(({ detail }) => !detail?.includes(text));
      };
    const ELSE = "something else became of it at its hosts";
    const ways: Record<string, readonly [found: string | null, expected: string]> = {
      "a decision left out": [made.why(without("plan.pause")), "a row of the desk was left out"],
      "another left out": [made.why(without("plan.resume")), "a row of the desk was left out"],
      "another end": [
        made.why(({ predicate }) => Object.assign(predicate.plan, { state: "cancelled" })),
        "the plan ended as done, and not as cancelled",
      ],
      "a host that was reached": [
        made.why(({ predicate }) => Object.assign(predicate.targets[1] ?? {}, { state: "ok" })),
        ELSE,
      ],
      "a run that was not that of the host": [
        made.why(({ predicate }) => Object.assign(predicate.targets[1] ?? {}, { run_id: made.otherRun })),
        ELSE,
      ],
    };
    expect(Object.entries(ways).filter(([, [found, expected]]) => !found?.includes(expected))).toEqual([]);
    // Whoever leaves it out as well shows no more than the word of the desk, which is said.
    const silent = made.verdict(without(" ended state="));
    expect([silent.ok, silent.plan?.whole]).toEqual([true, false]);
  });

  test("is the newest, where a plan was run again", async () => {
    await using made = await provenPlan({ decided, hasEnd: true });
    const { audit, receipts } = made;
    const row = { event_type: "rest_api", host_id: null, viewer_id: null };
    await audit.append({
      ...row,
      detail: `POST /plans/x/retry -> started plan.retry id=${PLAN} state=failed`,
    });
    const none = { hosts: 0, hostsDigest: digestOfTargets([]) };
    await receipts.planEnded({ id: PLAN, created: 0, state: "done" }, none);
    const { rows } = await receipts.ofPlan({ id: PLAN, created: 0 });
    expect(rows.map(({ event_type, detail }) => [event_type, /plan\.(\w+)/.exec(detail ?? "")?.[1]])).toEqual(
      [...["apply", "pause", "resume", "retry"].map((verb) => ["rest_api", verb]), ["plan", undefined]],
    );
    expect(rows.at(-1)?.detail).toContain("rows=4:");
  });
});

test("a host whose receipt would spoil that of the plan is named in its place", async () => {
  await using made = await provenPlan();
  const { receipts, envelope, other, otherRun } = made;
  const { predicate } = statementIn(JSON.parse(made.fileOf()).plan, "plan");
  const [target] = predicate.targets;
  if (!target) throw new Error("no host");
  const refused = (receipt: Envelope, change: object = {}, plan: object = {}, more: object = {}) => {
    const about = { ...predicate, plan: { ...predicate.plan, ...plan }, ...more };
    return receipts.refusalsFor(about, "one")(receipt, { ...target, ...change });
  };
  expect(refused(envelope)).toBe(null);
  const forged = { ...envelope, payload: other.payload };
  expect(refused(forged)).toContain("has not signed what is in it");
  expect(refused({ ...envelope, payload: "e30=" })).toContain("expected the receipt of a run");
  expect(refused(other, { run_id: otherRun })).toContain("of another host, run or plan");
  expect(refused(envelope, { identity: "c".repeat(32) })).toContain("of another host, run or plan");
  expect(refused(envelope, {}, { content_sha256: OTHER })).toContain("ran something else");
  const { vkey } = newWitness("svc.witness/desk");
  expect(refused(envelope, {}, {}, { witness: vkey })).toContain("has not cosigned");
  const spec = JSON.stringify({ ...SPEC, expires_s: -7_200 });
  expect(refused(envelope, {}, { spec })).toContain("began after the plan had expired");
});

test("a plan is no run, and a run no plan", async () => {
  await using made = await provenPlan();
  const file = JSON.parse(made.fileOf());
  const verify = (one: unknown) => verifyReceipt(JSON.stringify(one), made.trust);
  expect(() => verify(file.plan)).toThrow("expected the receipt of a run");
  expect(() => verify({ ...file, plan: made.envelope })).toThrow("expected the receipt of a plan");
  expect(made.why(undefined, undefined, { ...made.trust, parameters: {} })).toContain(
    "parameters: expected with the receipt of one run",
  );
});

describe("a witness that is asked for", () => {
  test("and is the desk holds for the logs of the hosts, and no other log is said to be seen", async () => {
    await using made = await provenPlan();
    const { ok, plan, runs } = made.verdict();
    expect(ok).toBe(true);
    expect(runs).toMatchObject([{ witnesses: [{ name: "svc.witness/desk", asked: true }] }]);
    expect(plan).toMatchObject({ window: null, witnesses: [] });
  });

  test("and is another holds for the log of the desk, and the desk alone names who has seen the hosts", async () => {
    await using made = await provenPlan();
    const upper = newWitness("svc.witness/upper");
    const asked = { ...made.trust, witnesses: [parseVerifierKey(upper.vkey)] };
    expect(made.why(undefined, undefined, asked)).toBe("svc.witness/upper has not cosigned one of the heads");
    // The heads of the desk, which are its own to show.
    const { ok, plan, runs } = made.verdict(
      ({ predicate: { heads } }) =>
        Object.assign(heads, {
          before: upper.cosign(heads.before ?? "", SEEN + 61),
          after: upper.cosign(heads.after, SEEN + 121),
        }),
      undefined,
      asked,
    );
    expect(ok).toBe(true);
    expect(plan).toMatchObject({
      window: { after: seenAfter(61), before: seenAfter(121) },
      witnesses: [{ name: "svc.witness/upper", asked: true }],
    });
    expect(runs).toMatchObject([{ witnesses: [{ name: "svc.witness/desk", asked: false }] }]);
  });

  test("and is the desk is no proof of a plan without a receipt of a host", async () => {
    await using made = await provenPlan();
    const without: Change = ({ predicate }) =>
      Object.assign(predicate.targets[0] ?? {}, {
        receipt_sha256: null,
        log_key: null,
        missing: "it is off",
      });
    expect(made.why(without, [])).toContain("as there is no receipt of a host");
    expect(made.why(without, [], { ...made.trust, witnesses: [] })).toBe(null);
  });
});
