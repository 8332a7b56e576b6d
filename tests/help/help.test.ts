/** The pages of docs/ as svc carries them, the search in them, and which message has which entry. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { elementsOf } from "../../src/help/elements";
import { createEntries, quotesIn } from "../../src/help/entries";
import { readHelp } from "../../src/help/operations";
import { archiveOf, pageNames, pagesIn } from "../../src/help/pages";
import { ENTRIES, searchPages, sectionsOf } from "../../src/help/sections";
import { anchorsOf, ROOT, readPage } from "../docs/pages";
import { testServer } from "../support";

const { entryOf } = createEntries();

type Answer = v.InferOutput<typeof readHelp.output>;

const host = await testServer();
afterAll(() => host[Symbol.asyncDispose]());

/** What the server answers. @throws its error. */
async function read(input: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await host.call(`/help?${new URLSearchParams(input)}`);
  const body = await response.json();
  if (!response.ok) throw new Error(v.parse(v.object({ error: v.string() }), body).error);
  return v.parse(readHelp.output, body);
}

describe("svc carries", () => {
  test("every page of docs/, the index first", () => {
    const there = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
    expect(
      pageNames()
        .map((name) => `${name}.md`)
        .sort(),
    ).toEqual(there.sort());
    expect(pageNames()[0]).toBe("README");
  });

  test("them in 200 KB", async () => {
    const archive = archiveOf(pagesIn(join(ROOT, "docs")));
    expect((await Bun.zstdCompress(archive, { level: 19 })).length).toBeLessThan(200_000);
  });
});

test("the anchors of sections and of elements are those of GitHub", () => {
  for (const name of pageNames()) {
    const wanted = [...anchorsOf(readPage(`docs/${name}.md`))];
    expect(sectionsOf(name).map(({ anchor }) => anchor)).toEqual(wanted);
    const ids = elementsOf(readPage(`docs/${name}.md`)).flatMap((one) =>
      typeof one !== "string" && /^h\d$/.test(one[0]) ? [one[1].id ?? ""] : [],
    );
    expect(ids).toEqual(wanted);
  }
});

describe("a topic is", () => {
  test("a page, in any case, with or without .md", async () => {
    for (const topic of ["plans", "PLANS", "plans.md"]) {
      const answer = await read({ topic });
      expect(answer.read).toEqual({ page: "plans", title: "Plans", text: readPage("docs/plans.md") });
    }
  });

  test("an entry of troubleshooting, by its number or heading, alone", async () => {
    const answer = await read({ topic: "t4" });
    expect(answer.read?.text).toStartWith("# A server runs already\n\n> a server already runs on …");
    expect(answer.read?.text).not.toContain("## The port needs more rights");
    expect((await read({ topic: "SvcHostDown" })).read?.title).toBe("SvcHostDown");
  });

  test("or nothing that there is: the message says where to look", async () => {
    await expect(read({ topic: "nope" })).rejects.toThrow(
      'topic: there is no page, entry or command "nope": `svc help` lists them, `svc help --search WORDS` looks in all pages',
    );
  });
});

describe("a search", () => {
  test("finds sections with all words, in any case, those that name them first", async () => {
    const { found = [] } = await read({ search: "Port  TAKEN" });
    expect(found[0]).toMatchObject({ page: "troubleshooting", entry: "T3", anchor: "the-port-is-taken" });
    expect(found[0]?.line).toContain("taken");
    expect((await read({ search: "exit code" })).found?.length).toBeGreaterThan(5);
  });

  test("finds nothing where a word is on no page", async () => {
    expect(await read({ search: "port zzzyx" })).toEqual({ found: [] });
  });

  test("leaves others their turns, however many words it has", async () => {
    const words = "e a o t i n s r h l d c";
    await read({ search: words });
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const found = await searchPages(words, 30);
    isOver = true;
    expect(found.length).toBe(30);
    expect(turns).toBeGreaterThan(0);
  });

  test("does not go with a topic", async () => {
    await expect(read({ search: "a", topic: "plans" })).rejects.toThrow("search: looks in all pages");
  });
});

describe("the entries of troubleshooting.md", () => {
  const entries = sectionsOf(ENTRIES).filter(({ level, page }) => level === 3 && page === ENTRIES);

  test("have a number each, or are of an alert", () => {
    const numbers = entries.flatMap(({ entry, heading }) =>
      /^Svc\w+$/.test(heading) ? [] : [entry ?? heading],
    );
    expect(numbers.filter((number) => !/^T\d+$/.test(number))).toEqual([]);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test("are named by the messages that they quote", () => {
    /** A message may have two entries: what is quoted in full says which. */
    const lost = entries.flatMap((section) =>
      quotesIn(section).filter((quoted) => {
        const entry = entryOf(quoted.replaceAll("…", "x"));
        const named = entries.find((one) => one.entry === entry);
        return named === undefined || !quotesIn(named).some((other) => isLike(other, quoted));
      }),
    );
    // Too short to be told from other messages.
    expect(lost).toEqual([
      "…: … cannot be read (…)",
      "… allows …, but …",
      "not linked (…)",
      "… mend it or …",
    ]);
  });

  test("are not named by other messages", () => {
    for (const message of [
      "limit: expected a number",
      "file: x cannot be read (ENOENT)",
      "x",
      "there is no job nightly",
      "cancelled",
    ])
      expect([message, entryOf(message)]).toEqual([message, undefined]);
  });
});

/** Whether a message quoted as `quoted` may be one quoted as `other`. */
const isLike = (other: string, quoted: string) =>
  other === quoted || other.split("…").every((part) => quoted.includes(part.trim()));
