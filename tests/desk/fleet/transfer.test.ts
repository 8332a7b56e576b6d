import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Host } from "../../../src/desk/fleet/host";
import { exportHosts, importHosts } from "../../../src/desk/fleet/transfer";
import { host } from "./support";

describe("an address book", () => {
  test("is the same after export and import, as CSV and as JSON", async () => {
    const word = fc.stringMatching(/^[a-z0-9_.-]{1,12}$/).filter((text) => text !== "all");
    const one: fc.Arbitrary<Host> = fc.record({
      label: fc.stringMatching(/^[a-zä"' =+0-9-]{1,20}$/).map((text) => `h${text}`.trim()),
      base_url: word.map((path) => `https://lab.example/${path.replaceAll(/^\.+$/g, "x")}`),
      token: fc.stringMatching(/^[\x21-\x7e]{1,30}$/),
      tags: fc.array(word, { maxLength: 3 }),
    });
    const hosts = fc.uniqueArray(one, { selector: ({ label }) => label, minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(hosts, fc.constantFrom("csv" as const, "json" as const), async (all, format) => {
        expect(await importHosts(await exportHosts(all, format, true), [], format)).toEqual(all);
        const without = await exportHosts(all, format, false);
        expect(await importHosts(without, all, format)).toEqual(all);
      }),
    );
  });

  test("is exported without tokens unless they are requested", async () => {
    for (const format of ["csv", "json"] as const) {
      expect(await exportHosts([host("a")], format, false)).not.toContain(host("a").token);
      expect(await exportHosts([host("a")], format, true)).toContain(host("a").token);
    }
  });

  test("is read with or without a byte order mark, and with columns in any order", async () => {
    const csv = "\ufefftags,Token,base_url,label\r\nlab old,tok,http://a/,a\r\n\r\n";
    expect(await importHosts(csv, [])).toEqual([
      { label: "a", base_url: "http://a", token: "tok", tags: ["lab", "old"] },
    ]);
  });

  test("with a bad entry is refused as a whole; the message has the line of each and quotes no token", async () => {
    const secret = "hunter2-\u00e4";
    const csv = `label,base_url,token\na,ftp://a,tok\nb,http://b,${secret}\nc,http://c,tok\nc,http://c,tok\n`;
    const message = await importHosts(csv, []).catch((error) => String(error));
    expect(message).toContain("line 2: base_url: expected an http or https address");
    expect(message).toContain("line 3: token: expected a token");
    expect(message).toContain("line 5: label: c is there twice");
    expect(message).not.toContain(secret);
    for (const bad of [
      `label,base_url,token\n"${secret}`,
      `label,base_url,token\na,http://a,b,${secret}\n`,
      `${secret},a,http://a\n`,
      "",
      "{",
    ]) {
      const fault = await importHosts(bad, []).catch((error) => String(error));
      expect(fault).toContain("expected");
      expect(fault).not.toContain(secret);
    }
  });

  test.each([
    [
      "a value too many",
      "label,base_url,token\na,http://a,x\nb,http://b,x,y\n",
      "line 3: expected 3 values, one for each column of the first line, but found 4",
    ],
    [
      "a value too few",
      "label,base_url,token\na,http://a\n",
      "line 2: expected 3 values, one for each column of the first line, but found 2",
    ],
    [
      "a quote that is not closed",
      'label,base_url,token\n"a,http://a,x\n',
      'expected a " that closes the value',
    ],
    ["a quote inside", 'label,base_url,token\na"b,http://a,x\n', 'line 2: expected a value with a " in it'],
    [
      "more after a quote",
      'label,base_url,token\n"a"b,http://a,x\n',
      "line 2: expected a comma or the end of the line",
    ],
    [
      "JSON with a comma too many",
      '{"hosts": [\n  {"label": "a",}\n]}',
      "line 2, column 17: expected a name in double quotes",
    ],
    ["JSON that is cut off", '{"hosts": [', "line 1, column 12: expected"],
    ["JSON of another form", '{"hosts": {}}', 'expected JSON of the form {"hosts": [{…}]}'],
  ])("with %s says where and what was expected", async (_what, text, fault) => {
    expect(await importHosts(text, []).catch(({ message }) => message)).toStartWith("file: ");
    expect(await importHosts(text, []).catch(({ message }) => message)).toContain(fault);
  });
});
