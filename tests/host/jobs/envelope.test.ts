/** The envelope of a job: what is signed, and what is refused. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { openSigningKey } from "../../../src/trust/identity";
import {
  hasExpired,
  MAX_AHEAD_MS,
  openSealed,
  type SignedEnvelope,
  SKEW_MS,
  seal,
} from "../../../src/wire/job/envelope";
import { temporaryFolder } from "../../support";
import { at, madeUpJob } from "./support";

const HOST = "0123456789abcdef0123456789abcdef";

using folder = temporaryFolder();
const key = openSigningKey(join(folder.path, "desk_key"));
const signer = { host_id: HOST, desk_key: key.publicKey };
const job = madeUpJob();

describe("a signed job", () => {
  test("says what the desk has signed", () => {
    const { id, plan, digest, not_before, expires } = job;
    const about = {
      v: 1,
      id,
      plan,
      to: HOST,
      operation: "execute",
      digest,
      nbf: not_before,
      exp: expires,
    } as const;
    expect(openSealed(seal(job, "execute", HOST, key), signer, "execute")).toEqual(about);
  });

  test("is refused when any byte of it is another", () => {
    const sealed = seal(job, "execute", HOST, key);
    const field = fc.constantFrom("envelope" as const, "signature" as const);
    const change = fc.record({ field, at: fc.nat(), to: fc.nat(255) });
    const isRefused = ({
      field,
      at: nth,
      to,
    }: {
      field: "envelope" | "signature";
      at: number;
      to: number;
    }) => {
      const bytes = Buffer.from(sealed[field] ?? "");
      const place = nth % bytes.length;
      fc.pre(bytes[place] !== to);
      bytes[place] = to;
      const changed: SignedEnvelope = { ...sealed, [field]: bytes.toString("latin1") };
      expect(() => openSealed(changed, signer, "execute")).toThrow("the signature is not that of the desk");
    };
    fc.assert(fc.property(change, isRefused), { numRuns: 3_000 });
  });

  test("is refused when a character of its signature is another, wherever it is", () => {
    const sealed = seal(job, "execute", HOST, key);
    const { signature = "" } = sealed;
    for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ") {
      for (const place of [0, 42, 84, 85]) {
        if (signature[place] === character) continue;
        const other = signature.slice(0, place) + character + signature.slice(place + 1);
        expect(() => openSealed({ ...sealed, signature: other }, signer, "execute")).toThrow("signature");
      }
    }
  });

  test("is refused when something is added to it or missing", () => {
    const sealed = seal(job, "execute", HOST, key);
    const { envelope, signature = "" } = sealed;
    const others: SignedEnvelope[] = [
      { envelope },
      { envelope: `${envelope} `, signature },
      { envelope: ` ${envelope}`, signature },
      { envelope: envelope.slice(0, -1), signature },
      { envelope, signature: `${signature}A` },
      { envelope, signature: signature.slice(1) },
      { envelope, signature: "" },
      { envelope: "", signature },
    ];
    for (const one of others) expect(() => openSealed(one, signer, "execute")).toThrow("signature");
  });

  test("is refused by another host, and where another desk has signed it", () => {
    const elsewhere = seal(job, "execute", HOST.replace("0", "f"), key);
    expect(() => openSealed(elsewhere, signer, "execute")).toThrow("for another host");
    const other = openSigningKey(join(folder.path, "other_key"));
    expect(() => openSealed(seal(job, "execute", HOST, other), signer, "execute")).toThrow("signature");
  });

  test("is not cancelled by what runs it, nor the other way round", () => {
    expect(() => openSealed(seal(job, "execute", HOST, key), signer, "cancel")).toThrow(
      "to execute, and not to cancel",
    );
    expect(() => openSealed(seal(job, "cancel", HOST, key), signer, "execute")).toThrow(
      "to cancel, and not to execute",
    );
  });

  test("is not taken for a message of another kind, signed with the same key", () => {
    const { envelope } = seal(job, "execute", HOST, key);
    for (const text of [envelope, `svc-job-v1${envelope}`, `svc-desk-pins-v1\n${envelope}`]) {
      expect(() => openSealed({ envelope, signature: key.sign(text) }, signer, "execute")).toThrow(
        "signature",
      );
    }
  });
});

describe("a job for a host that has not joined", () => {
  test("is not signed, and names no host", () => {
    const sealed = seal(job, "execute", null, key);
    expect(sealed.signature).toBeUndefined();
    expect(openSealed(sealed, null, "execute")).toMatchObject({ id: job.id, to: null });
  });

  test("is refused with a signature, which nobody could verify", () => {
    expect(() => openSealed(seal(job, "execute", HOST, key), null, "execute")).toThrow(
      "whose jobs alone are signed",
    );
  });

  test("is refused when it names a host", () => {
    const { envelope } = seal(job, "execute", HOST, key);
    expect(() => openSealed({ envelope }, null, "execute")).toThrow("for another host");
  });
});

test("what is no envelope is refused, whatever it is", () => {
  const text = fc.oneof(fc.string(), fc.json());
  const isRefused = (envelope: string) => {
    expect(() => openSealed({ envelope }, null, "execute")).toThrow("envelope: expected that of a job");
  };
  fc.assert(fc.property(text, isRefused));
});

describe("the time of a job:", () => {
  const { envelope } = seal(madeUpJob({}, { not_before: at(0), expires: at(60_000) }), "execute", null, null);
  const read = openSealed({ envelope }, null, "execute");
  const [begins, ends] = [Date.parse(read.nbf), Date.parse(read.exp)];

  test("a host whose clock is up to five minutes behind takes it at once", () => {
    expect(hasExpired(read, begins)).toBe(false);
    expect(hasExpired(read, begins - SKEW_MS)).toBe(false);
    const clock = new Date(begins - SKEW_MS - 1).toISOString();
    expect(() => hasExpired(read, begins - SKEW_MS - 1)).toThrow(`the clock of this host says ${clock}`);
  });

  test("it has expired at its end, without tolerance", () => {
    expect(hasExpired(read, ends - 1)).toBe(false);
    expect(hasExpired(read, ends)).toBe(true);
    expect(hasExpired(read, ends + MAX_AHEAD_MS)).toBe(true);
  });

  test("one that a host would have to know for too long is refused", () => {
    expect(() => hasExpired(read, ends - MAX_AHEAD_MS - 1)).toThrow("within 32 days");
  });
});
