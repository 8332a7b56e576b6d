import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { inboxFault, namesInside } from "../../src/lib/inside";
import { temporaryFolder } from "../support";

test("a path is inside a folder, whatever links lead there and however much of it is missing", () => {
  using home = temporaryFolder();
  const at = (name: string) => join(home.path, name);
  mkdirSync(at("real/folder"), { recursive: true });
  symlinkSync(at("real"), at("link"));
  expect(namesInside(at("link/folder/new/file"), at("real"))).toEqual(["folder", "new", "file"]);
  expect(namesInside(at("real/folder"), at("link/folder"))).toEqual([]);
  expect(namesInside(at("real/folder"), at("link/folder/.."))).toEqual(["folder"]);
  for (const [path, folder] of [
    ["real", "real/folder"],
    ["real-too", "real"],
    ["new", "other"],
  ] as const)
    expect(namesInside(at(path), at(folder))).toBeNull();
});

test("an inbox is outside of the configuration folder and not above it, or in its folder inbox", () => {
  using home = temporaryFolder();
  const at = (name: string) => join(home.path, name);
  mkdirSync(at("m/svc/run"), { recursive: true });
  symlinkSync(at("m/svc"), at("link"));
  symlinkSync("run", at("m/svc/inbox"));
  const fault = (inbox: string) => inboxFault(at(inbox), at("m/svc"))?.replaceAll(home.path, "");
  expect([fault("m"), fault(".")]).toEqual([
    "the configuration folder is inside the inbox /m",
    "the configuration folder is inside the inbox ",
  ]);
  expect([fault("m/svc"), fault("link")]).toEqual([
    "the inbox /m/svc is the configuration folder",
    "the inbox /link is the configuration folder",
  ]);
  for (const inbox of ["m/svc/inbox", "link/run", "m/svc/run"])
    expect(fault(inbox)).toBe(`the inbox /${inbox} leads to run in the configuration folder`);
  expect(fault("link/new/inbox")).toContain("leads to new/inbox");
  for (const inbox of ["m/svc-inbox", "m/inbox", "inbox"]) expect(fault(inbox)).toBeUndefined();
  for (const inbox of ["new/inbox", "new/inbox/below"]) expect(inboxFault(at(inbox), at("new"))).toBeNull();
  expect(inboxFault(at("new"), at("new/svc"))).toContain("is inside the inbox");
});
