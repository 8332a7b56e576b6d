/** What a host takes for a request of its desk. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openSigningKey } from "../../../src/lib/signing-key";
import { createSealCheck, sealOf } from "../../../src/wire/nats/seal";
import { temporaryFolder } from "../../support";

const me = { id: "UHOST", hostId: "a", session: "0123456789abcdef" };
const request = { method: "POST", path: "/execute", key: "k" };
const body = Buffer.from("{}");

function made() {
  using folder = temporaryFolder();
  const key = openSigningKey(join(folder.path, "key"));
  let [time, steady] = [Date.now(), 0];
  return {
    ...{ key, seal: sealOf(request, body, me, key) },
    check: createSealCheck(
      () => me,
      () => key.publicKey,
      () => time,
      () => steady,
    ),
    pass: (ms: number) => {
      time += ms;
      steady += ms;
    },
    /** Sets the clock of the host. */
    set: (ms: number) => {
      time += ms;
    },
  };
}

test("a request is good once", () => {
  const { check, seal } = made();
  expect(check.fault(request, seal)).toBeUndefined();
  expect(check.fault(request, seal)).toBe("this request was here before");
});

test.each([
  ["method", { ...request, method: "GET" }],
  ["path", { ...request, path: "/execute?x" }],
  ["key", { ...request, key: "other" }],
])("of another %s it is not signed", (_what, other) => {
  const { check, seal } = made();
  expect(check.fault(other, seal)).toContain("the signature is not that");
});

test.each(["time", "nonce", "digest"] as const)("a changed %s is noticed", (field) => {
  const { check, seal } = made();
  const changed = { ...seal, [field]: field === "time" ? seal.time + 1 : `${seal[field].slice(1)}A` };
  expect(check.fault(request, changed)).toContain("the signature is not that");
});

test("one for another host, or another start of it, is worth nothing", () => {
  const { key, seal } = made();
  for (const other of [
    { ...me, id: "UOTHER" },
    { ...me, hostId: "b" },
    { ...me, session: "f".repeat(16) },
  ])
    expect(
      createSealCheck(
        () => other,
        () => key.publicKey,
      ).fault(request, seal),
    ).toContain("the signature is not");
});

test("one that is older than five minutes is refused, and both clocks are named", () => {
  const { check, seal, pass } = made();
  pass(300_001);
  expect(check.fault(request, seal)).toMatch(
    /^the clock of this host says .*Z, that of the desk .*Z: at most 5 /,
  );
});

test("one that was used is remembered where the clock is set, and set back", () => {
  const { check, key, seal, set } = made();
  expect(check.fault(request, seal)).toBeUndefined();
  set(3_600_000);
  expect(check.fault(request, sealOf(request, body, me, key))).toContain("the clock");
  set(-3_600_000);
  expect(check.fault(request, seal)).toBe("this request was here before");
});

test("what a host remembers is bounded, and is forgotten", () => {
  const { check, key, pass } = made();
  const next = () => check.fault(request, sealOf(request, body, me, key));
  for (let nth = 0; nth < 20_000; nth++) next();
  expect(next()).toBe("too many requests came in the last minutes");
  pass(600_001);
  expect(next()).toContain("the clock");
});
