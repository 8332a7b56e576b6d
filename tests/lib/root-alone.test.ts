/** Whose programs root may run. */
import { expect, test } from "bun:test";
import { isOfRootAlone } from "../../src/lib/root-alone";

const OF_ROOT = { uid: 0, mode: 0o40755, isSymbolicLink: () => false };

/** Whether root alone may write `/opt/svc`, where all but these is root's. */
const asked = (others: Readonly<Record<string, object | undefined>>) =>
  isOfRootAlone("/opt/svc", (path) =>
    path in others ? others[path] && { ...OF_ROOT, ...others[path] } : OF_ROOT,
  );

test("a program that root alone may write, also by its folders, is root's alone; any other is not", () => {
  expect(asked({})).toBe(true);
  for (const path of ["/opt/svc", "/opt", "/"]) {
    expect(asked({ [path]: { uid: 1_000 } })).toBe(false);
    expect(asked({ [path]: { mode: 0o40775 } })).toBe(false);
    expect(asked({ [path]: { mode: 0o40757 } })).toBe(false);
    expect(asked({ [path]: { isSymbolicLink: () => true } })).toBe(false);
    expect(asked({ [path]: undefined })).toBe(false);
  }
});
