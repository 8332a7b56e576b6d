import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as v from "valibot";
import { BROADCAST } from "../../../src/desk/fleet/operations/broadcast-input";
import { matchingHosts, selectHosts, selectHostsNow } from "../../../src/desk/fleet/selection";
import { gaps } from "../../support";
import { host } from "./support";

const HOSTS = [
  host("lab-01", undefined, "lab"),
  host("lab-02", undefined, "lab", "old"),
  host("shop", undefined, "shop"),
];
const selected = (selection: string) => selectHostsNow(HOSTS, selection).map(({ label }) => label);

describe("a selection", () => {
  test("is a label, a tag or all", () => {
    expect(selected("shop")).toEqual(["shop"]);
    expect(selected("tag:lab")).toEqual(["lab-01", "lab-02"]);
    expect(selected("all")).toEqual(["lab-01", "lab-02", "shop"]);
  });

  test("is the union of its terms, in the order of the address book, with each host once", () => {
    expect(selected("shop, lab-01,tag:shop")).toEqual(["lab-01", "shop"]);
  });

  test("can name 2,000 hosts one by one, whatever their labels", () => {
    const many = Array.from({ length: 2_000 }, (_, nth) => host(`${nth}-`.padEnd(128, "x")));
    const { on } = v.parse(BROADCAST, { actions: [], on: many.map(({ label }) => label).join() });
    expect(selectHostsNow(many, on ?? "")).toEqual(many);
  });

  test("leaves out what follows !, wherever it is written", () => {
    expect(selected("tag:lab,!tag:old")).toEqual(["lab-01"]);
    expect(selected("!shop,all")).toEqual(["lab-01", "lab-02"]);
    expect(selected("all,!tag:nobody")).toEqual(["lab-01", "lab-02", "shop"]);
  });

  test("takes 16 patterns at most, since each is compared with every host", () => {
    const patterns = (count: number) => Array.from({ length: count }, (_, nth) => `!x${nth}*`).join(",");
    expect(selected(`all,${patterns(16)}`)).toEqual(["lab-01", "lab-02", "shop"]);
    expect(() => selected(`all,${patterns(17)}`)).toThrow("on: expected at most 16 terms with * or ?");
  });

  test("takes * for any characters and ? for one, in labels and in tags", () => {
    expect(selected("lab-*")).toEqual(["lab-01", "lab-02"]);
    expect(selected("lab-?1,s*p")).toEqual(["lab-01", "shop"]);
    expect(selected("tag:*,!lab-*")).toEqual(["shop"]);
    expect(selected("tag:o*")).toEqual(["lab-02"]);
    expect(selected("all,!x*")).toEqual(["lab-01", "lab-02", "shop"]);
    const odd = [host("a*"), host("ab"), host(".a/[b]{c}!d\\e")];
    const among = (selection: string) => selectHostsNow(odd, selection).map(({ label }) => label);
    expect(among("a*")).toEqual(["a*"]);
    expect(among("?b")).toEqual(["ab"]);
    expect(among("*/[b]{c}!d\\?")).toEqual([".a/[b]{c}!d\\e"]);
    expect(among("*")).toHaveLength(3);
  });

  test.each([
    ["shop-*", "no host is labelled shop-*"],
    ["lab-03", "no host is labelled lab-03"],
    ["all,!lab-03", "no host is labelled lab-03"],
    ["tag:nobody", "no host is tagged nobody"],
    ["!tag:old", "expected a term without !, such as all"],
    ["all,!all", "selects no host"],
    ["", "expected terms between commas"],
    ["lab-01,", "expected terms between commas"],
    ["tag:", "expected a label or a tag after tag:"],
    [
      "tag:lab !healthy",
      "no host is tagged lab !healthy: terms have commas between them; `svc admin list WORDS",
    ],
    ["lab-01 lab-02", "no host is labelled lab-01 lab-02: terms have commas"],
    ["all,!", "expected a label or a tag after !"],
    ["all,!tag:", "expected a label or a tag after !tag:"],
    ["Lab-01", "no host is labelled Lab-01"],
  ])("%p is refused: %s", (selection, message) => {
    expect(() => selected(selection)).toThrow(message);
  });

  test("of before matches what is left of it, though hosts and tags are gone", async () => {
    const matching = async (selection: string) =>
      (await matchingHosts(HOSTS, selection)).map(({ label }) => label);
    expect(await matching("lab-01,lab-03,tag:nobody,x-*")).toEqual(["lab-01"]);
    expect(await matching("tag:lab,!lab-03,!tag:nobody,!lab-02")).toEqual(["lab-01"]);
    expect(await matching("lab-03")).toEqual([]);
    expect(await matchingHosts([], "all")).toEqual([]);
  });

  test("never selects what it does not name", () => {
    const names = fc.constantFrom("a", "b", "c", "d");
    const hosts = fc
      .uniqueArray(names, { minLength: 1 })
      .chain((labels) =>
        fc.tuple(
          ...labels.map((label) => fc.subarray(["x", "y"]).map((tags) => host(label, undefined, ...tags))),
        ),
      );
    const term = fc.constantFrom("a", "b", "c", "d", "tag:x", "tag:y", "all");
    const terms = fc.array(fc.tuple(fc.boolean(), term), { minLength: 1 });
    const means = (of: string, { label, tags }: { label: string; tags: string[] }) =>
      of === "all" || of === label || tags.includes(of.slice(4));
    fc.assert(
      fc.property(hosts, terms, (all, parts) => {
        let found: ReturnType<typeof selectHostsNow>;
        try {
          found = selectHostsNow(all, parts.map(([without, of]) => (without ? `!${of}` : of)).join(","));
        } catch {
          return;
        }
        const wanted = all.filter(
          (one) =>
            parts.some(([without, of]) => !without && means(of, one)) &&
            !parts.some(([without, of]) => without && means(of, one)),
        );
        expect(found).toEqual(wanted);
        expect(found.length).toBeGreaterThan(0);
      }),
    );
  });

  test("is the same in slices as in one turn", async () => {
    const inSlices = async (selection: string) =>
      (await selectHosts(HOSTS, selection)).map(({ label }) => label);
    expect(await inSlices("tag:l*,!lab-?2")).toEqual(["lab-01"]);
    await expect(inSlices("lab-03")).rejects.toThrow("no host is labelled lab-03");
  });

  test.each(["!*?a?*?b?*?c?*?d", "!tag:*?a?*?b?*?c?*?d"])(
    "of patterns as %p is compared with 20,000 names while others are answered",
    async (term) => {
      const many = Array.from({ length: 20_000 }, (_, nth) =>
        host(`lab-${nth}-abab`, undefined, `${nth}-abab`),
      );
      const on = ["all", ...Array.from({ length: 16 }, (_, nth) => `${term}${nth}*`)].join();
      const { longest, took } = await gaps(async () =>
        expect(await selectHosts(many, on)).toHaveLength(20_000),
      );
      // Compared in one turn, the longest gap would be the whole.
      expect(longest).toBeLessThan(Math.max(took / 2, 50));
    },
  );
});
