/** `AC_read_csv`, `AC_read_json` and `AC_write_csv`: files of data beside a script. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { executeFile } from "../../../src/host/runs/operations/execute";
import { temporaryFolder, testService } from "../../support";

/** Runs `actions` as the script `main.json` of a folder with these files. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const folder = temporaryFolder();
  const host = testService();
  const at = (name: string) => join(folder.path, "scripts", name);
  mkdirSync(at("."), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
  return {
    at,
    text: (name: string) => readFileSync(at(name), "utf8"),
    async run(...actions: readonly unknown[]) {
      writeFileSync(at("main.json"), JSON.stringify(actions));
      const caller = localCaller(host.service, "api");
      return callOperation(host.service, executeFile, { path: at("main.json") }, caller);
    },
    /** The error of the first action, without its command. */
    async fault(...actions: readonly unknown[]) {
      return (await this.run(...actions)).outcomes.at(-1)?.error;
    },
    /** What the one action returns. */
    async result(action: readonly unknown[]) {
      const { outcomes, error_text } = await this.run(action);
      expect(error_text).toBeNull();
      return outcomes[0]?.result;
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

const readCsv = (path: string, more = {}) => ["AC_read_csv", { path, ...more }];
const writeCsv = (path: string, rows: unknown, more = {}) => ["AC_write_csv", { path, rows, ...more }];

describe("AC_read_csv", () => {
  test("gives rows by the names of the columns, as RFC 4180 quotes them", async () => {
    await using folder = folderWith({
      "in/orders.csv": '\ufeffname,"the count"\r\n"ACME, Inc.",3\r\n\r\n"two ""quoted""\nlines",0\r\n',
    });
    expect(await folder.result(readCsv("in/orders.csv"))).toEqual([
      { name: "ACME, Inc.", "the count": "3" },
      { name: 'two "quoted"\nlines', "the count": "0" },
    ]);
  });

  test("gives lists without a header, and knows tabs by the name of the file", async () => {
    await using folder = folderWith({ "a.tsv": "a,b\t1\nc\t2\n", "b.csv": "x;y\n" });
    expect(await folder.result(readCsv("a.tsv", { header: false }))).toEqual([
      ["a,b", "1"],
      ["c", "2"],
    ]);
    expect(await folder.result(readCsv("b.csv", { header: false, delimiter: ";" }))).toEqual([["x", "y"]]);
  });

  test("is what a loop takes", async () => {
    await using folder = folderWith({ "a.csv": "n\n1\n2\n" });
    const { outcomes, error_text } = await folder.run(
      readCsv("a.csv", { as: "rows" }),
      ["AC_set_var", { name: "all", value: "" }],
      [
        "AC_for_each",
        {
          list: "${rows}",
          var: "row",
          body: [["AC_set_var", { name: "all", op: "append", value: "${row.n};" }]],
        },
      ],
      ["AC_set_var", { name: "all", op: "trim" }],
    );
    expect([error_text, outcomes.at(-1)?.result]).toEqual([null, "1;2;"]);
  });

  test("names the line of a fault, and quotes nothing", async () => {
    await using folder = folderWith({ "a.csv": "a,b\n1,2\nhunter2,3,4\n" });
    expect(await folder.fault(readCsv("a.csv"))).toMatch(/^path: not CSV, in line 3 \(CSV_[A-Z_]+\)$/);
  });

  test.each([
    ["none there", "none.csv", /^path: no such file: .*none\.csv$/],
    ["another end", "main.json", /^path: expected a name that ends in \.csv or \.tsv$/],
    ["bytes that are no UTF-8", "latin.csv", /^path: the file is not in UTF-8$/],
    ["a folder", "folder.csv", /^path: expected a regular file$/],
    ["more than fits", "large.csv", /^path: expected at most 4194304 bytes$/],
  ])("refuses %s", async (_, path, message) => {
    await using folder = folderWith({
      "latin.csv": new Uint8Array([0x61, 0xe9, 0x0a]),
      "folder.csv/inside": "",
      "large.csv": "a\n".repeat(2 * 1024 * 1024 + 1),
    });
    expect(await folder.fault(readCsv(path))).toMatch(message);
  });
});

describe("the folder of the script", () => {
  test.each(["../secret.csv", "/etc/secret.csv", "link.csv", "linked/secret.csv"])(
    "is not left: %s",
    async (path) => {
      await using folder = folderWith();
      writeFileSync(folder.at("../secret.csv"), "a\n1\n");
      symlinkSync("../secret.csv", folder.at("link.csv"));
      symlinkSync("..", folder.at("linked"));
      for (const action of [readCsv(path), writeCsv(path, [["x"]])])
        expect(await folder.fault(action)).toStartWith("path: expected a file in the folder of the script");
      expect(readFileSync(folder.at("../secret.csv"), "utf8")).toBe("a\n1\n");
    },
  );

  test("is missing for a list that was sent", async () => {
    await using host = testService();
    const executor = await host.service.executor();
    const list = await executor.prepare([readCsv("/tmp/a.csv")]);
    const { outcomes } = await executor.run(list, localCaller(host.service, "api"), {});
    expect(outcomes[0]?.error).toStartWith("path: expected in a script that is a file");
  });
});

describe("AC_read_json", () => {
  test("gives the value", async () => {
    await using folder = folderWith({ "a.json": '{"list": [1, {"b": null}]}' });
    expect(await folder.result(["AC_read_json", { path: "a.json" }])).toEqual({ list: [1, { b: null }] });
  });

  test("refuses what is no JSON, without quoting it", async () => {
    await using folder = folderWith({ "a.json": "{hunter2" });
    expect(await folder.fault(["AC_read_json", { path: "a.json" }])).toBe("path: the file is not JSON");
  });
});

describe("AC_write_csv", () => {
  test("writes what AC_read_csv reads, whatever the texts have", async () => {
    await using folder = folderWith();
    const text = fc
      .string({ unit: "grapheme" })
      .map((text) => text.replaceAll("\r", "").replace(/^\ufeff/, ""));
    const table = fc.array(fc.record({ a: text, "b c": text }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        // A line of two empty texts is not empty: it has a comma.
        const [, read] = (await folder.run(writeCsv("a.csv", rows), readCsv("a.csv"))).outcomes;
        expect(read?.result).toEqual(rows.map((row) => ({ ...row })));
      }),
      { numRuns: 30 },
    );
  });

  test("adds rows in the order of the columns that the file has", async () => {
    await using folder = folderWith({ "a.csv": "x,y\n1,2" });
    expect(await folder.result(writeCsv("a.csv", [{ y: true, x: 3 }], { append: true }))).toEqual({
      rows: 1,
    });
    expect(folder.text("a.csv")).toBe("x,y\n1,2\n3,true\n");
  });

  test("writes the header once, also where it adds to a file that is not there yet", async () => {
    await using folder = folderWith();
    const add = writeCsv("a.csv", [{ x: 1, y: null }], { append: true });
    await folder.run(add, add);
    expect(folder.text("a.csv")).toBe("x,y\n1,\n1,\n");
  });

  test("takes the columns that it is given, and refuses a value of another", async () => {
    await using folder = folderWith({ "b.csv": "x\n1\n" });
    expect(await folder.result(writeCsv("a.csv", [{ x: 1 }], { columns: ["y", "x"] }))).toEqual({ rows: 1 });
    expect(folder.text("a.csv")).toBe("y,x\n,1\n");
    expect(await folder.fault(writeCsv("b.csv", [{ x: 1, z: 2 }], { append: true }))).toBe(
      "rows: z is none of the columns",
    );
    expect(folder.text("b.csv")).toBe("x\n1\n");
  });

  test("refuses other columns than those of the file, and what is no table", async () => {
    await using folder = folderWith({ "a.csv": "x\n1\n" });
    expect(await folder.fault(writeCsv("a.csv", [{ x: 1 }], { columns: ["z"], append: true }))).toBe(
      "columns: the file has x",
    );
    expect(await folder.fault(writeCsv("keys.json", [["x"]]))).toStartWith("path: expected a name");
    expect(existsSync(folder.at("keys.json"))).toBe(false);
  });
});

test("a table of very many columns is written in time that grows with it", async () => {
  const names = Array.from({ length: 60_000 }, (_, nth) => `column-${nth}`);
  await using folder = folderWith({ "in.csv": `${names.join()}\n${names.map(() => "1").join()}\n` });
  const began = performance.now();
  const { outcomes } = await folder.run(
    ["AC_read_csv", { path: "in.csv", as: "rows" }],
    writeCsv("out.csv", "${rows}"),
  );
  expect(outcomes[1]?.result).toEqual({ rows: 1 });
  expect(performance.now() - began).toBeLessThan(5_000);
});
