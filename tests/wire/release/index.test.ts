/**
 * The index of a release.
 */
import { expect, test } from "bun:test";
import { parseIndex, parseTrustedComment, trustedComment } from "../../../src/wire/release/index";
import { compareVersions } from "../../../src/wire/release/released-binary";

const INDEX = {
  format: 1,
  version: "0.2.0",
  commit: "abc1234",
  date: "2026-11-23",
  files: { "linux-x64": { name: "svc-linux-x64", size: 138_893_488, sha256: "0".repeat(64) } },
};

test("an index is read, and keys of a later release are ignored", () => {
  const more = { ...INDEX, notes: "new" };
  expect(parseIndex(JSON.stringify(more))).toEqual(INDEX as ReturnType<typeof parseIndex>);
});

const file = INDEX.files["linux-x64"];
test.each([
  ["not JSON", "{", "is not JSON"],
  ["another format", { ...INDEX, format: 2 }, "has the format 2, this svc reads the format 1"],
  ["a bad version", { ...INDEX, version: "v1" }, "malformed: version"],
  ["a name with a folder", { ...INDEX, files: { "linux-x64": { ...file, name: "../svc" } } }, "name"],
  ["a short hash", { ...INDEX, files: { "linux-x64": { ...file, sha256: "00" } } }, "sha256"],
  ["a size that no binary has", { ...INDEX, files: { "linux-x64": { ...file, size: 1e15 } } }, "size"],
  ["a target that is a path", { ...INDEX, files: { "../x": file } }, "malformed: files"],
  ["a list", [], "malformed"],
])("an index with %s is refused", (_, index, message) => {
  const text = typeof index === "string" ? index : JSON.stringify(index);
  expect(() => parseIndex(text)).toThrow(message);
});

test("versions are ordered as semver.org orders them", () => {
  const ordered = [
    "0.1.9",
    "0.1.10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
  ];
  const all = [...ordered, "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "10.0.0"];
  expect(all.toReversed().toSorted(compareVersions)).toEqual(all);
});

test("the trusted comment of a binary says its version and target, and no other comment does", () => {
  expect(parseTrustedComment(trustedComment("0.2.0", "linux-x64-musl"))).toEqual({
    version: "0.2.0",
    target: "linux-x64-musl",
  });
  for (const other of [
    "",
    "svc 0.2.0",
    "svc 0.2.0 linux-x64 more",
    "other 0.2.0 linux-x64",
    "svc 0.2 linux-x64",
  ]) {
    expect(parseTrustedComment(other)).toBeUndefined();
  }
});
