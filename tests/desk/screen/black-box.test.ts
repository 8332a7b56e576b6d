/** What the screens of hosts have shown, asked through a desk: by its routes, and by commands on its machine. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { keepSegments } from "../../../src/host/desktop/screen/black-box/segments";
import { addSegment } from "../../host/desktop/screen/black-box/support";
import { makeToken } from "../../host/mcp/support";
import { SVC, TOKEN, temporaryFolder, testServer } from "../../support";

setDefaultTimeout(60_000);

const PNG = "89504e470d0a1a0a";

/** A desk with a host that keeps a black box, and one that keeps none. */
async function start() {
  await using stack = new AsyncDisposableStack();
  const host = stack.use(await testServer({ service: { black_box: 3_600 } }));
  const plain = stack.use(await testServer());
  const desk = stack.use(await testServer());
  const book = await desk.service.addressBook();
  for (const [label, { server }] of [
    ["lab-07", host],
    ["lab-08", plain],
  ] as const)
    await book.add({ label, base_url: server.url, token: TOKEN, tags: [] });
  const time = addSegment(host.configDir, "Error 0x80070005");
  const own = stack.move();
  return {
    ...{ host, desk, time },
    /** A command on the machine of the desk, in `folder`. */
    async run(folder: string, ...words: readonly string[]) {
      const child = Bun.spawn([...SVC, ...words, "--config-dir", desk.configDir], {
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [out, said] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { code: await child.exited, out, said };
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

describe("the routes of a desk", () => {
  test("hand on the picture of a time, the spans, and the runs for which something is kept", async () => {
    await using made = await start();
    const { desk, host, time } = made;
    const picture = await (await desk.call(`/admin/hosts/lab-07/screen/at?time=${time}`)).json();
    expect(picture).toMatchObject({ format: "png", width: 4, height: 4 });
    const spans = await (await desk.call("/admin/hosts/lab-07/black-box/spans")).json();
    expect(spans).toMatchObject({ spans: [{ from: expect.any(String) }] });
    const run = { run_id: "r1", source_type: "plan", source_id: "p/j", from: time, to: time };
    keepSegments(join(host.configDir, "black-box"), run);
    expect(await (await desk.call("/admin/hosts/lab-07/black-box/kept")).json()).toEqual({
      runs: [run],
      count: 1,
    });
    const none = await desk.call(`/admin/hosts/lab-08/screen/at?time=${time}`);
    expect([none.status, await none.json()]).toMatchObject([
      404,
      { error: expect.stringContaining("lab-08: the black box has nothing here") },
    ]);
  });

  test("leave a row at the desk that names who looked, and one at the host", async () => {
    await using made = await start();
    const token = await makeToken(made.desk.configDir, "ann", ["screen"]);
    const headers = { authorization: `Bearer ${token}` };
    expect(
      (await made.desk.call(`/admin/hosts/lab-07/screen/at?time=${made.time}`, { headers })).status,
    ).toBe(200);
    const rows = await (await made.desk.call("/audit/list")).text();
    expect(rows).toMatch(/admin\.screen_at[^\n]*lab-07/);
    expect(rows).toContain("ann");
    expect(await (await made.host.call("/audit/list")).text()).toContain("screen.at time=");
    const reader = await makeToken(made.desk.configDir, "reader", ["read"]);
    const refused = await made.desk.call(`/admin/hosts/lab-07/screen/at?time=${made.time}`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    expect(refused.status).toBe(403);
  });
});

describe("on the machine of a desk", () => {
  test("svc screen at HOST TIME writes the picture where it is run, with a time in any of its forms", async () => {
    await using made = await start();
    using folder = temporaryFolder();
    const named = await made.run(folder.path, "screen", "at", "lab-07", made.time, "--output", "then.png");
    expect(named).toMatchObject({ code: 0, out: expect.stringContaining("then.png  4 x 4  since ") });
    expect(readFileSync(join(folder.path, "then.png")).toString("hex", 0, 8)).toBe(PNG);
    const ago = await made.run(folder.path, "screen", "at", "lab-07", "8s", "ago", "--json");
    expect(ago.code).toBe(0);
    expect(JSON.parse(ago.out)).toMatchObject({ format: "png", width: 4 });
    // Without a host, it is this one, which keeps none.
    const here = await made.run(folder.path, "screen", "at", "8s", "ago");
    expect(here).toMatchObject({ code: 1, said: expect.stringContaining("the black box has nothing here") });
  });

  test("svc screen at says what was typed and what was expected", async () => {
    await using made = await start();
    using folder = temporaryFolder();
    const alone = await made.run(folder.path, "screen", "at", "lab-07");
    expect(alone).toMatchObject({ code: 2, said: expect.stringMatching(/time: expected a time .*"lab-07"/) });
    const wrong = await made.run(folder.path, "screen", "at", "lab-07", "noonish");
    expect(wrong).toMatchObject({ code: 2, said: expect.stringContaining('but found "noonish"') });
    const both = await made.run(folder.path, "screen", "at", "lab-07", "02:13", "--on", "all");
    expect(both).toMatchObject({ code: 2, said: expect.stringContaining("--on: expected without the host") });
    const unknown = await made.run(folder.path, "screen", "at", "lab-99", "02:13");
    expect(unknown).toMatchObject({ code: 1, said: expect.stringContaining("lab-99") });
  });

  test("svc find --on all names hosts, windows and times, and writes pictures where it is run", async () => {
    await using made = await start();
    using folder = temporaryFolder();
    const found = await made.run(
      folder.path,
      ...["find", "0x80070005", "--on", "lab-07", "--since", "24h", "--pictures", "found/then"],
    );
    expect(found).toMatchObject({ code: 0, said: "" });
    expect(found.out).toMatch(/lab-07 .*Error 0x80070005/);
    const [name = ""] = readdirSync(join(folder.path, "found", "then"));
    expect(name).toMatch(/^lab-07-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.png$/);
    expect(readFileSync(join(folder.path, "found", "then", name)).toString("hex", 0, 8)).toBe(PNG);
    expect(readdirSync(made.host.configDir)).not.toContain("found");
    const all = await made.run(folder.path, "find", "0x80070005", "--on", "all", "--json");
    expect(all.code).toBe(1);
    const lines = all.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { label: "lab-07", ok: true, result: { count: 1 } },
      { label: "lab-08", ok: false, error: expect.stringContaining("nothing here") },
    ]);
  });

  test("svc find --pictures shows what hosts found beside one whose times and pictures are none", async () => {
    await using made = await start();
    using folder = temporaryFolder();
    const find = { kind: "text", window: "w", program: null, text: "of the other" };
    const found = [
      { ...find, from: "x\u001b[2J", to: "y" },
      { ...find, from: made.time, to: made.time },
    ];
    const picture = { format: "png", width: 4, height: 4, since: "x", encoding: "base64", data: "AAAA" };
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        Response.json(url.includes("/screen/at") ? picture : { found, count: 2, unread: 0, left_off: 0 }),
    });
    const book = await made.desk.service.addressBook();
    await book.add({ label: "lab-09", base_url: `http://127.0.0.1:${other.port}`, token: TOKEN, tags: [] });
    const words = ["find", "0x80070005", "--on", "lab-07,lab-09", "--pictures", "then"];
    const { code, out, said } = await made.run(folder.path, ...words);
    await other.stop(true);
    expect(out).toMatch(/lab-07 .*Error 0x80070005/);
    expect(out).toMatch(/lab-09 .*of the other/);
    expect(said).toMatch(
      /lab-09: no picture of a find that is from "x[^\u001b]*" to "y": expected two times/,
    );
    expect(said).toMatch(/lab-09: no picture of .*: what the host gave is no PNG/);
    expect(said).not.toContain("lab-07");
    expect(readdirSync(join(folder.path, "then"))).toEqual([expect.stringMatching(/^lab-07-/)]);
    expect(code).toBe(1);
  });

  test("svc find --pictures exits with 1 where a picture cannot be written, and shows what was found", async () => {
    await using made = await start();
    using folder = temporaryFolder();
    const find = () => made.run(folder.path, "find", "0x80070005", "--on", "lab-07", "--pictures", "then");
    await find();
    const [name = ""] = readdirSync(join(folder.path, "then"));
    rmSync(join(folder.path, "then", name));
    mkdirSync(join(folder.path, "then", name));
    const { code, out, said } = await find();
    expect(out).toMatch(/lab-07 .*Error 0x80070005/);
    expect(said).toMatch(/lab-07: no picture of .*: --pictures: not a regular file/);
    expect(code).toBe(1);
  });
});
