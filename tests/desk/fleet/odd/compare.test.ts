/** Which screens are found among others, and which are not. */
import { beforeAll, describe, expect, test } from "bun:test";
import { ODD_FROM, type Verdict } from "../../../../src/desk/fleet/odd/compare";
import type { SignedHost } from "../../../../src/desk/fleet/odd/prepared";
import { FAULTS, type Fault, fleet, machine } from "./screens";
import { compareHosts, createHiddenPicture, evenPicture, signed } from "./signed";

const [FLEETS, SIZE, TRIALS] = [20, 500, 100];

const named = (verdicts: readonly Verdict[]) =>
  verdicts.filter(({ score }) => (score ?? 0) >= ODD_FROM).map(({ label, why }) => `${label}: ${why}`);

/** The one of a fleet in whose place the odd one is. */
const placeOf = (trial: number) => (trial * 97) % SIZE;

describe("500 ticket machines", () => {
  let fleets: SignedHost[][] = [];
  beforeAll(() => {
    fleets = Array.from({ length: FLEETS }, (_, nth) => fleet(1 + nth, SIZE));
  }, 60_000);

  test("that are alike, 20 times: none is named", async () => {
    const all = await Promise.all(fleets.map((hosts) => compareHosts(hosts, ["kiosk"])));
    expect(all.flatMap(named)).toEqual([]);
    expect(all.flat().every(({ tag, others }) => tag === "kiosk" && others === SIZE - 1)).toBe(true);
  });

  test("of which one is odd, 100 times: it is found 99 times, and no other one", async () => {
    const missed: string[] = [];
    for (let trial = 0; trial < TRIALS; trial++) {
      const seed = 1 + (trial % FLEETS);
      const fault = FAULTS[trial % FAULTS.length] as Fault;
      const odd = machine(seed, placeOf(trial), fault);
      const hosts = fleets[seed - 1]?.with(placeOf(trial), odd) ?? [];
      const verdicts = await compareHosts(hosts, ["kiosk"]);
      const found = named(verdicts);
      if (found.length !== 1 || !found[0]?.startsWith(`${odd.label}: `))
        missed.push(
          `${fault} of seed ${seed}: ${found.join("; ")} (score ${verdicts[placeOf(trial)]?.score})`,
        );
    }
    if (missed.length > 0) console.info(missed.join("\n").slice(0, 2_000));
    expect(missed.length).toBeLessThanOrEqual(1);
  }, 120_000);

  test("one sentence says what is the matter", async () => {
    const why = async (fault: Fault) => {
      const verdicts = await compareHosts(fleets[0]?.with(7, machine(1, 7, fault)) ?? [], ["kiosk"]);
      return verdicts[7]?.why;
    };
    expect(await why("dialog")).toBe('it has a window "Update failed"; none of the 499 others has one');
    expect(await why("black")).toBe("its screen is black; those of the others are not");
    expect(await why("program")).toBe('it has a window "Solitaire"; none of the 499 others has one');
    expect(await why("code")).toBe('it shows the text "Error 0x80070005"; none of the 499 others does');
    expect(await why("language")).toMatch(/^it shows the text ".+"; none of the 499 others does$/);
    expect(await why("login")).toMatch(/^it shows the text "Password"; none of the 499 others does$/);
  });

  test("of which sixteen have the same dialog: they are named; of which 45 have it, they are not, and come first", async () => {
    const [first = []] = fleets;
    const withDialogs = (many: number) =>
      first.map((host, nth) => (nth < many ? machine(1, nth, "dialog") : host));
    expect(named(await compareHosts(withDialogs(16), ["kiosk"]))).toHaveLength(16);
    const many = await compareHosts(withDialogs(45), ["kiosk"]);
    expect(named(many)).toEqual([]);
    // They come first all the same.
    expect(Math.min(...many.slice(0, 45).map(({ score }) => score ?? 0))).toBeGreaterThan(
      Math.max(...many.slice(45).map(({ score }) => score ?? 0)),
    );
  });
});

describe("a few screens", () => {
  const alike = (many: number, tags = ["lab"]) =>
    Array.from({ length: many }, (_, nth) => signed(`lab-${nth}`, { windows: ["Till"], tags }));

  test("of fewer than four with one tag nobody can tell, and why is said", async () => {
    const hosts = [...alike(3), signed("desk", { tags: [] })];
    const [first, , , desk] = await compareHosts(hosts);
    expect(first).toMatchObject({
      ...{ score: null, tag: null },
      why: "cannot tell: only 2 other hosts with a tag of it answered, and it takes 3",
    });
    expect(desk?.why).toBe("cannot tell: it has no tag by which others are like it");
  });

  test("one of four that differs is named", async () => {
    const hosts = [...alike(3), signed("odd", { windows: ["Till", "Update failed"], tags: ["lab"] })];
    expect(named(await compareHosts(hosts))).toEqual([
      'odd: it has a window "Update failed"; none of the 3 others has one',
    ]);
  });

  test("what all have of their own makes none of them odd, and does not hide one that lacks the rest", async () => {
    const hosts = Array.from({ length: 40 }, (_, nth) =>
      signed(`lab-${nth}`, { windows: ["Till", `Letter to ${"abcdefghij"[nth % 10]}${"klmn"[nth >> 4]}x`] }),
    );
    expect(named(await compareHosts(hosts))).toEqual([]);
    const found = named(await compareHosts(hosts.with(3, signed("lab-3", { windows: [] }))));
    expect(found).toEqual(['lab-3: it has no window "Till"; 39 of the 39 others have one']);
  });

  test("numbers, times, ids and the name of the host are no difference; a code is", async () => {
    const hosts = Array.from({ length: 8 }, (_, nth) =>
      signed(`berlin${"abcdefgh"[nth]}-${nth}`, {
        windows: [`Till of berlin${"abcdefgh"[nth]}-${nth}, ${nth} open, 10:0${nth}`],
        texts: [
          `Job ${(0xabc123 + nth).toString(16)}`,
          `1,00${nth}.50 EUR on 2026-11-2${nth}`,
          "State 0x00000000",
        ],
      }),
    );
    expect((await compareHosts(hosts)).map(({ score }) => score)).toEqual(Array(8).fill(0));
    const [one] = hosts;
    const other = { ...one, signature: { ...one?.signature, texts: ["State 0x80070005"] } } as SignedHost;
    expect(named(await compareHosts(hosts.with(0, other)))[0]).toContain('"State 0x80070005"');
  });

  test("a host of whose name others write a word is not odd", async () => {
    const hosts = ["till", "north", "south", "west"].map((label) =>
      signed(label, { windows: ["Till open"] }),
    );
    expect((await compareHosts(hosts)).map(({ score }) => score)).toEqual([0, 0, 0, 0]);
  });

  test("what is not known of a screen is no difference: its windows, its texts, its picture", async () => {
    const blind = signed("blind", { windows: ["Till"], tags: ["lab"] });
    const unknown = { windows: [], no_windows: "none", texts: [], no_texts: "no bus", picture: null };
    const hosts = [...alike(5), { ...blind, signature: { ...blind.signature, ...unknown } }];
    expect((await compareHosts(hosts)).map(({ score }) => score)).toEqual(Array(6).fill(0));
  });

  test("a block that is left out is no difference, and a part that is not is named with its place", async () => {
    const hosts = alike(12);
    const hidden = signed("hidden", { windows: ["Till"], tags: ["lab"], picture: createHiddenPicture() });
    expect((await compareHosts([...hosts, hidden])).at(-1)?.score).toBe(0);
    const corner = evenPicture((block) => (block % 16 < 5 && block >= 11 * 16 ? 200 : 100));
    const odd = signed("odd", { windows: ["Till"], tags: ["lab"], picture: corner });
    expect(named(await compareHosts([...hosts, odd]))).toEqual([
      "odd: its picture differs from the others in 10 % of the screen, most of it at the bottom left",
    ]);
  });

  test("of several tags it is the one whose screens are the most alike, unless tags are named", async () => {
    const tills = alike(6, ["till", "berlin"]);
    const rest = Array.from({ length: 6 }, (_, nth) =>
      signed(`pc-${nth}`, { windows: [`Letter ${"abcdef"[nth]}`], tags: ["berlin"] }),
    );
    const hosts = [...tills, ...rest];
    expect((await compareHosts(hosts))[0]).toMatchObject({ tag: "till", others: 5, score: 0 });
    expect((await compareHosts(hosts, ["berlin"]))[0]).toMatchObject({ tag: "berlin", others: 11 });
  });
});
