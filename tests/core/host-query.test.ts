import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { doubtOf, type FoundHost, parseHostQuery } from "../../src/core/host-query";
import { STATE_WORDS, TRUSTS } from "../../src/core/host-terms";
import { namePattern } from "../../src/core/name-pattern";
import { TRUST } from "../../src/desk/fleet/host";
import { usedMs } from "../../src/lib/clock";

const NOW = Date.parse("2026-04-27T12:00:00Z");
const hostOf = (label: string, more: Partial<FoundHost> = {}): FoundHost => ({
  ...{ label, tags: [], state: "up", why: null, seen: "2026-04-27T12:00:00Z", version: "0.3.0", plan: null },
  ...{ way: "https", trust: "key", broken: false, twin: false },
  ...more,
});

const HOSTS = [
  hostOf("lab-01", { tags: ["lab"], version: "0.2.9", plan: "1c2f" }),
  hostOf("lab-02", { tags: ["lab", "old"], state: "down", why: "connection refused", version: "0.2.10" }),
  hostOf("lab-10", { tags: ["lab"], broken: true, version: "0.3.0-rc.1", way: "link", trust: "identity" }),
  hostOf("gone one", { state: "unknown", seen: null, version: null, trust: "nothing", way: "http" }),
  hostOf("shop", { tags: ["shop"], state: "busy", why: "HTTP 429", seen: "2026-04-27T10:00:00Z" }),
];

function found(text: string): string[] {
  const query = parseHostQuery(text);
  if ("fault" in query) throw new Error(query.fault);
  return query.select(HOSTS, NOW).map(({ label }) => label);
}

describe("a query for hosts", () => {
  test.each([
    ["", ["lab-01", "lab-02", "lab-10", "gone one", "shop"]],
    ["tag:lab !healthy version:<0.3", ["lab-02"]],
    ["tag:lab,shop", ["lab-01", "lab-02", "lab-10", "shop"]],
    ["tag:lab,!tag:old,!lab-10", ["lab-01"]],
    ["!tag:lab", ["gone one", "shop"]],
    ["all,!tag:*a*", ["gone one", "shop"]],
    ["LAB", ["lab-01", "lab-02", "lab-10"]],
    ["lab-1", ["lab-10"]],
    ["lab-?1", ["lab-01"]],
    ["label:lab-0*", ["lab-01", "lab-02"]],
    ['"gone one"', ["gone one"]],
    ['"gone', ["gone one"]],
    ["healthy", ["lab-01"]],
    ["up broken", ["lab-10"]],
    ["down,busy", ["lab-02", "shop"]],
    ["unknown", ["gone one"]],
    ["lost", ["lab-02"]],
    ["failing,off", []],
    ["running", ["lab-01"]],
    ["idle", ["lab-10"]],
    ["version:0.2", ["lab-01", "lab-02"]],
    ["version:>=0.2.10", ["lab-02", "lab-10", "shop"]],
    ["version:<0.3.0", ["lab-01", "lab-02", "lab-10"]],
    ["version:<=0.3", ["lab-01", "lab-02", "lab-10", "shop"]],
    ["!version:>0", ["lab-01", "lab-02", "lab-10", "gone one", "shop"]],
    ["seen:>1h", ["gone one", "shop"]],
    ["seen:<90m", ["lab-01", "lab-02", "lab-10"]],
    ["way:link", ["lab-10"]],
    ["trust:nothing", ["gone one"]],
    ["why:REFUSED", ["lab-02"]],
    ['why:"connection refused"', ["lab-02"]],
    ['!why:"connection refused" tag:lab', ["lab-01", "lab-10"]],
    [`${Array.from({ length: 70 }, (_, nth) => `none-${nth}`)},lab-0*`, ["lab-01", "lab-02"]],
    ["!", ["lab-01", "lab-02", "lab-10", "gone one", "shop"]],
    ["shop,", ["shop"]],
    ["no-such-host", []],
  ])("%p finds %p", (text, labels) => {
    expect(found(text)).toEqual(labels);
  });

  test.each([
    ["version:old", "version: expected a version, also <0.3 or >=0.2.1"],
    ["seen:5m", "seen: expected <5m or >1d"],
    ["tag:", "tag: expected a tag after it"],
    ["way:pigeon", 'way: expected link, nats, https or http but found "pigeon"'],
    [
      "trust:no",
      'trust: expected key, certificate, ca, authorities, identity, server, loopback or nothing but found "no"',
    ],
    ["verison:<0.3", "verison: expected tag, label, version"],
    [Array.from({ length: 65 }, () => "up").join(" "), "expected at most 64 words"],
    ["x".repeat(300_001), "expected at most 300000 characters"],
  ])("%p is refused with words for who typed it", (text, fault) => {
    expect(() => found(text)).toThrow(fault);
  });

  test("knows all that may vouch for a host", () => {
    expect(TRUSTS).toEqual(TRUST);
  });

  const DOUBTS: ReadonlyArray<readonly [string, string | undefined]> = [
    [
      "tags:lab !healthy",
      "tags: is no property, so it was looked for in labels; properties are tag, label, version",
    ],
    ["tag:lab !state:down", "state: is no property, so it was looked for in labels"],
    [`${"x".repeat(300)}:y`, `${"x".repeat(40)}: is no property`],
    ["tag:lab lab-01 version:0.3 down", undefined],
    ['"tags:lab" :x x: Rack:7 rack-7:9', undefined],
    ["", undefined],
  ];
  test.each([...DOUBTS])(
    "%p has a doubt where a property that is none is a part of a label",
    (text, doubt) => {
      expect(doubtOf(text)?.slice(0, doubt?.length)).toBe(doubt);
    },
  );

  test("takes a whole label before those that have it in them, and a label with a colon as one", () => {
    const hosts = [hostOf("lab-1"), hostOf("lab-10"), hostOf("a:b"), hostOf("down")];
    const labels = (text: string) => {
      const query = parseHostQuery(text);
      return "fault" in query ? query.fault : query.select(hosts, NOW).map(({ label }) => label);
    };
    expect(labels("lab-1")).toEqual(["lab-1"]);
    expect(labels("a:b")).toEqual(["a:b"]);
    expect(labels("label:down")).toEqual(["down"]);
    expect(labels('"down"')).toEqual(["down"]);
  });

  test("tells hosts that are down apart: they answer wrongly, were there within a day, or were not", () => {
    const down = (label: string, why: string, seen: string | null) =>
      hostOf(label, { state: "down", why, seen });
    const hosts = [
      down("token", "HTTP 401: unauthorized", "2026-04-27T11:59:00Z"),
      down("cut", "the connection was refused", "2026-04-26T12:00:01Z"),
      down("old", "the connection was refused", "2026-04-26T12:00:00Z"),
      down("never", "no answer within 3 s", null),
      hostOf("up", { why: "HTTP 401" }),
    ];
    const labels = (text: string) => {
      const query = parseHostQuery(text);
      return "fault" in query ? query.fault : query.select(hosts, NOW).map(({ label }) => label);
    };
    expect(labels("failing")).toEqual(["token"]);
    expect(labels("lost")).toEqual(["cut"]);
    expect(labels("off")).toEqual(["old", "never"]);
    expect(labels("down")).toEqual(["token", "cut", "old", "never"]);
  });

  test("can name 2,000 hosts one by one", () => {
    const many = Array.from({ length: 2_000 }, (_, nth) => hostOf(`${nth}-`.padEnd(128, "x")));
    const query = parseHostQuery(many.map(({ label }) => label).join());
    expect("fault" in query ? query : query.select(many, NOW)).toEqual(many);
  });

  const piece = fc.oneof(
    fc.constantFrom(...'!," *?:<>=', "tag:", "version:", "seen:<", "label:", "0.3", "5m", "lab", "x"),
    fc.constantFrom(...STATE_WORDS),
    fc.string({ unit: "binary", maxLength: 4 }),
  );

  test("is understood or refused, and never throws, whatever is typed", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const query = parseHostQuery(pieces.join(""));
        if ("fault" in query) expect(query.fault).toBeString();
        else expect(HOSTS).toEqual(expect.arrayContaining(query.select(HOSTS, NOW)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("finds with two words what both find, and with ! the others", () => {
    const term = fc.constantFrom(
      "tag:lab",
      "lab-0",
      "up",
      "down",
      "version:<0.3",
      "seen:>1h",
      "shop",
      "lab-*",
    );
    fc.assert(
      fc.property(term, term, (one, other) => {
        expect(found(`${one} ${other}`)).toEqual(found(one).filter((label) => found(other).includes(label)));
        expect(new Set(found(`${one},${other}`))).toEqual(new Set([...found(one), ...found(other)]));
        const rest = HOSTS.map(({ label }) => label).filter((label) => !found(one).includes(label));
        expect(found(`!${one}`)).toEqual(rest);
      }),
    );
  });

  test("takes a time in proportion to what is typed", () => {
    const took = (times: number) => {
      const text = `${'!tag:a*b,"c" '.repeat(2)}${"lab-0123456789,".repeat(times)}`;
      const began = usedMs();
      parseHostQuery(text);
      return usedMs() - began;
    };
    took(1_000);
    // Sums, as the clock of the processor is coarse: as much text in all, in few pieces and in many.
    const sum = (times: number, runs: number) =>
      Array.from({ length: runs }, () => took(times)).reduce((all, one) => all + one, 0);
    expect(sum(16_000, 7) / sum(1_000, 112)).toBeLessThan(5);
  });
});

test("a pattern matches what its regular expression does, and takes no more than a moment", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "é", "😀"), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 10 });
  fc.assert(
    fc.property(text, name, (pattern, of) => {
      const isLike = namePattern(pattern);
      if (!isLike) return expect(pattern).not.toMatch(/[*?]/);
      const source = [...pattern].map((one) => (one === "*" ? ".*" : one === "?" ? "." : one)).join("");
      expect(isLike(of)).toBe(new RegExp(`^${source}$`, "u").test(of));
    }),
    { numRuns: 2_000 },
  );
  const began = performance.now();
  expect(namePattern(`${"*a".repeat(60)}*b`)?.("a".repeat(128))).toBe(false);
  expect(performance.now() - began).toBeLessThan(100);
});

test("any number of stars is one", () => {
  const fits = namePattern("*".repeat(290_000));
  // Star by star, this would take minutes.
  expect(Array.from({ length: 10_000 }, (_, nth) => fits?.(`host-${nth}`)).every(Boolean)).toBe(true);
});

test("however many words name parts of labels, a host is put to 64 of them", () => {
  const words = Array.from({ length: 64 }, (_, word) =>
    Array.from({ length: 64 }, (_, nth) => `!${word}x${nth}`).join(","),
  );
  const query = parseHostQuery(words.join(" "));
  if ("fault" in query) throw new Error(query.fault);
  let looks = 0;
  class Label extends String {
    override toLowerCase(): string {
      looks++;
      return super.toLowerCase();
    }
  }
  query.select([hostOf(new Label("lab-01") as unknown as string)], NOW);
  expect(looks).toBe(64);
});
