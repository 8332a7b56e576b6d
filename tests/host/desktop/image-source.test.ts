/** Which files a caller may have svc look for on the screen. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Caller } from "../../../src/core/caller";
import type { Scope } from "../../../src/core/rights";
import { sourceOf } from "../../../src/host/desktop/images/wait";
import { post, temporaryFolder, testServer } from "../../support";
import { desktopOn } from "./support";

const ONLY = "expected the name of a file in {config_dir}/images, or the PNG in base64";

const callerWith = (
  kind: Caller["kind"],
  scope: Scope,
  run?: { script: string; written: string },
): Caller => ({
  kind,
  lasts: true,
  client: null,
  grant: { name: "ci", scopes: [scope] },
  signal: new AbortController().signal,
  announce: async () => {},
  ...(run && {
    run: { script: run.script, written: () => run.written } as unknown as NonNullable<Caller["run"]>,
  }),
});

const OUTSIDE = [
  "/etc/passwd",
  "/nonexistent/a.png",
  "../secret.png",
  "a/../../secret.png",
  "link.png",
  "sub/x.png",
  ".",
];

test.each([
  ["a request, even one of an admin,", callerWith("rest", "admin")],
  ["a list of a token that may only look", callerWith("rest", "screen", { script: "", written: "x" })],
  [
    "a stored script with a variable of such a token",
    callerWith("rest", "screen", { script: "script:s", written: "${a}" }),
  ],
])("%s has pictures of the folder of images alone, also behind links", async (_who, caller) => {
  await using made = desktopOn({});
  const folder = made.desktop.imagesFolder;
  mkdirSync(folder);
  const outside = join(dirname(folder), "secret.png");
  writeFileSync(outside, "");
  symlinkSync(outside, join(folder, "link.png"));
  symlinkSync(dirname(folder), join(folder, "sub"));
  for (const image of [...OUTSIDE, outside, join(folder, "ok.png"), "a\0b"])
    expect(() => sourceOf(image, made.desktop, caller)).toThrow(ONLY);
  const named = { asked: "ok.png", paths: [join(folder, "ok.png")] };
  expect(sourceOf("ok.png", made.desktop, caller)).toEqual(named);
});

test("a script and a list of who may operate name any file; the words of a stored script are its author's", async () => {
  await using made = desktopOn({});
  const list = callerWith("rest", "operate", { script: "", written: "" });
  expect(sourceOf("/srv/a.png", made.desktop, list)).toEqual({ asked: "/srv/a.png", paths: ["/srv/a.png"] });
  const stored = callerWith("rest", "screen", { script: "script:s", written: "/srv/a.png" });
  expect(sourceOf("/srv/a.png", made.desktop, stored)).toEqual({
    asked: "/srv/a.png",
    paths: ["/srv/a.png"],
  });
  const kept = join(made.desktop.imagesFolder, "a.png");
  const file = callerWith("rest", "operate", { script: "/srv/s.json", written: "" });
  expect(sourceOf("a.png", made.desktop, file)).toEqual({ asked: "a.png", paths: ["/srv/a.png", kept] });
  expect(sourceOf("a.png", made.desktop, stored)).toEqual({ asked: "a.png", paths: [kept] });
});

test("POST /locate says the same of a file that is there and of one that is not", async () => {
  await using host = await testServer();
  using folder = temporaryFolder();
  const errors = ["/etc/passwd", join(folder.path, "none")].map(async (image) => {
    const answer = await host.call("/locate", post({ image }));
    return [answer.status, ((await answer.json()) as { error: string }).error];
  });
  for (const error of await Promise.all(errors)) expect(error).toEqual([400, `image: ${ONLY}`]);
});
