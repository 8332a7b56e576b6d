/** The diff of an import: readable, and without a secret in it. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { diffContent } from "../../../src/host/config/diff";

const hostsWith = (token: string, tags: string[] = []) => ({
  hosts: [{ label: "lab", base_url: "http://10.0.0.5:9939", token, tags }],
});

test("a changed field is shown with its context", async () => {
  expect(await diffContent("json", hostsWith("a", ["x"]), hostsWith("a", ["y"]))).toBe(
    [
      "@@ -6,5 +6,5 @@",
      '       "token": "*** (1)",',
      '       "tags": [',
      '-        "x"',
      '+        "y"',
      "       ]",
      "     }",
    ].join("\n"),
  );
});

test("a changed secret is shown as changed, without its value", async () => {
  const diff = await diffContent("json", hostsWith("old-token"), hostsWith("new-token"));
  expect(diff).toContain('-      "token": "*** (1)"');
  expect(diff).toContain('+      "token": "*** (2)"');
  expect(diff).not.toMatch(/old-token|new-token/);
});

test("no secret is shown, whatever its field is called", async () => {
  const field = fc.constantFrom(
    ..."token restToken access_tokens api_key secret webhookSecret password pass pwd passphrase credential auth bearer cookie".split(
      " ",
    ),
  );
  const secret = fc.constantFrom("hunter2", ["hunter2"], { a: { b: "hunter2" } });
  const property = fc.asyncProperty(field, secret, fc.boolean(), async (name, value, added) => {
    const [before, after] = added ? [{}, { [name]: value }] : [{ [name]: value }, {}];
    expect(await diffContent("json", before, after)).not.toContain("hunter2");
  });
  await fc.assert(property);
});

test("the user part of a URL is masked", async () => {
  const diff = await diffContent("json", {}, { base_url: "https://root:hunter2@host:1/x" });
  expect(diff).toContain("https://***@host:1/x");
});

test("a secret in the query of a URL is masked", async () => {
  const url = (token: string) => ({ server_url: `wss://host/x?room=1&access_token=${token}#key=${token}` });
  const diff = await diffContent("json", url("hunter2"), url("hunter3"));
  expect(diff).toContain('+  "server_url": "wss://host/x?room=1&access_token=*** (2)#key=*** (2)"');
  expect(diff).not.toContain("hunter");
});

test("a line that is longer than anybody reads is cut", async () => {
  const diff = await diffContent("text", "old", "n".repeat(100_000));
  expect(diff).toContain("+nnn");
  expect(diff.length).toBeLessThan(1_000);
});

test("two large files that have nothing in common do not take long", async () => {
  const lines = (seed: number) => Array.from({ length: 20_000 }, (_, at) => at * 7 + seed);
  expect(await diffContent("json", lines(1), lines(2))).toBe("too many changes to show");
});
