/** Recordings and thumbnails of a real display, over HTTP and in scripts. */
import { expect, setDefaultTimeout } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { post, serveSource, temporaryFolder, testWith, until } from "../../../support";
import { makeToken } from "../../mcp/support";
import { openTerminal, PROGRAMS, startDisplay } from "../support";

setDefaultTimeout(120_000);
const test = testWith(...PROGRAMS);

const EBML = "1a45dfa3";
const startsAs = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex", 0, 4);

test("a recording has what happens on the display, and can be fetched when it is over", async () => {
  await using display = await startDisplay();
  await using server = await serveSource([], { env: display.env });
  const started = await server.call("/screen/recording/start", post({ duration_s: 60, fps: 10 }));
  expect(started.status).toBe(200);
  const { name, file_path } = (await started.json()) as { name: string; file_path: string };
  expect((await server.call("/screen/recording/start", post({}))).status).toBe(409);
  const size = () => statSync(file_path).size;
  await until("the first picture", () => size() > 1_000);
  const before = size();
  await using _terminal = openTerminal(display.env, "recorded");
  await until("a picture of the terminal", () => size() > before);

  const listed = await (await server.call("/screen/recordings")).json();
  expect(listed).toMatchObject({ current: { name, result: null }, count: 1 });
  const answer = await server.call("/screen/recording/stop", post({}));
  const stopped = (await answer.json()) as { result: { pictures: number } };
  expect(stopped).toMatchObject({
    name,
    result: { ended: "stopped", error: null, width: 1280, height: 800 },
  });
  expect(stopped.result.pictures).toBeGreaterThan(1);

  const film = await server.call(`/screen/recordings/${name}`);
  expect(film.headers.get("content-type")).toBe("video/webm");
  expect(startsAs(await film.bytes())).toBe(EBML);
  expect((await server.call("/screen/recordings/..%2Frest_token")).status).toBe(404);
  expect((await server.call("/screen/recording/stop", post({}))).status).toBe(404);
  const { events } = (await (await server.call("/events?types=recording.*&after=oldest&wait=0")).json()) as {
    events: Array<{ type: string }>;
  };
  expect(events.map(({ type }) => type)).toEqual(["recording.started", "recording.ended"]);
  const rows = await (await server.call("/audit/list")).text();
  expect(rows).toContain("recording.start duration_s=60");
  expect(rows).toContain(`recording.get name=\\"${name}\\"`);
});

test("a script records to a file that it names; what is left of one is complete when the server stops", async () => {
  await using display = await startDisplay();
  using folder = temporaryFolder();
  const [file, left] = [join(folder.path, "a.webm"), join(folder.path, "b.webm")];
  {
    await using server = await serveSource([], { env: display.env });
    const actions = [
      ["AC_record_screen_start", { file_path: file }],
      ["AC_sleep", [0.3]],
      ["AC_record_screen_stop"],
      ["AC_record_screen_start", { file_path: left }],
    ];
    const report = await (await server.call("/execute", post({ actions }))).json();
    const third = { result: { file_path: file, result: { ended: "stopped" } } };
    expect(report).toMatchObject({ error_text: null, outcomes: [{}, {}, third, {}] });
  }
  // The index (its id is 1c53bb6b) is the last that is written.
  for (const film of [file, left]) {
    expect(readFileSync(film).toString("hex")).toContain("1c53bb6b");
  }
});

test("a thumbnail is small, has not changed while the screen has not, and leaves one row", async () => {
  await using display = await startDisplay();
  await using server = await serveSource(["--rate-limit", "0"], { env: display.env });
  const first = await server.call("/screen/thumbnail?width=200");
  expect(first.headers.get("content-type")).toBe("image/jpeg");
  const picture = await new Bun.Image(await first.bytes()).metadata();
  expect([picture.width, picture.height]).toEqual([200, 125]);
  let etag = "";
  const again = () => server.call("/screen/thumbnail?width=200", { headers: { "if-none-match": etag } });
  await until("the display to stand still", async () => {
    const answer = await again();
    etag = answer.headers.get("etag") ?? "";
    return answer.status === 304;
  });
  expect((await server.call(`/screen/thumbnail?width=200&seen=${etag.slice(1, -1)}`)).status).toBe(304);
  await using _terminal = openTerminal(display.env, "a change");
  await until("another picture", async () => (await again()).status === 200);
  const rows = await (await server.call("/audit/list")).text();
  expect(rows.split("looks at small pictures").length - 1).toBe(1);
  expect(rows).not.toContain("ok:304");
});

test("who may only look writes no file of its choice", async () => {
  await using server = await serveSource([]);
  const token = await makeToken(server.configDir, "looker", ["screen"]);
  const init = post({ file_path: "/tmp/of-somebody-else.webm" });
  const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` };
  const refused = await fetch(`${server.url}/screen/recording/start`, { ...init, headers });
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("file_path")]);
});

test("a token that may look neither ends, lists nor fetches the recordings of others", async () => {
  await using display = await startDisplay();
  await using server = await serveSource(["--screen-approval"], { env: display.env });
  const started = await server.call("/screen/recording/start", post({}));
  const { name } = (await started.json()) as { name: string };
  const looker = await makeToken(server.configDir, "looker", ["screen"]);
  const operator = await makeToken(server.configDir, "operator", ["screen", "operate"]);
  const as = async (token: string, path: string, init: RequestInit = {}) => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` };
    const answer = await fetch(`${server.url}${path}`, { ...init, headers });
    return [answer.status, await answer.text()] as const;
  };
  expect(await as(looker, "/screen/recordings")).toEqual([
    200,
    JSON.stringify({ current: null, recordings: [], count: 0 }),
  ]);
  expect(await as(looker, "/screen/recording/stop", post({}))).toEqual([
    403,
    expect.stringContaining("operate"),
  ]);
  expect((await as(looker, `/screen/recordings/${name}`))[0]).toBe(403);
  expect((await as(operator, "/screen/recordings"))[1]).toContain(name);
  expect((await as(operator, "/screen/recording/stop", post({})))[0]).toBe(200);
  expect((await as(operator, `/screen/recordings/${name}`))[0]).toBe(200);
});

test("a token that may look uses its own recordings", async () => {
  await using display = await startDisplay();
  await using server = await serveSource([], { env: display.env });
  const token = await makeToken(server.configDir, "looker", ["screen"]);
  const call = (path: string, init: RequestInit = {}) => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${token}` };
    return fetch(`${server.url}${path}`, { ...init, headers });
  };
  const { name } = (await (await call("/screen/recording/start", post({}))).json()) as { name: string };
  expect(name).toEndWith("~looker.webm");
  expect((await call("/screen/recording/stop", post({}))).status).toBe(200);
  const listed = await (await call("/screen/recordings")).json();
  expect(listed).toMatchObject({ count: 1, recordings: [{ name, token: "looker" }] });
  expect(startsAs(await (await call(`/screen/recordings/${name}`)).bytes())).toBe(EBML);
});

test("with --no-screen there is neither a recording nor a thumbnail", async () => {
  await using server = await serveSource(["--no-screen"]);
  expect((await server.call("/screen/thumbnail")).status).toBe(403);
  const refused = await server.call("/screen/recording/start", post({}));
  expect(await refused.json()).toEqual({ error: "the live screen is off here (svc serve --no-screen)" });
});
