/** The clients of docs/clients.md, for TypeScript and Python, used on one server of the compiled binary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeTypescriptClient } from "../../build/clients";
import { blocksOf, ROOT, readPage } from "../docs/pages";
import { runToEnd, type ServerProcess, serveBinary, temporaryFolder, testWith } from "../support";

const blocks = (language: string) =>
  blocksOf(readPage("docs/clients.md")).flatMap((block) => (block.language === language ? block.code : []));

let server: ServerProcess;
beforeAll(async () => {
  server = await serveBinary();
});
afterAll(() => server[Symbol.asyncDispose]());

async function run(command: readonly string[], cwd: string) {
  return runToEnd([...command], {
    cwd,
    env: { ...process.env, SVC_TOKEN: server.token, SVC_URL: server.url },
  });
}

/** The examples ask the server of this test. */
const atServer = (code: string) => code.replace('"http://127.0.0.1:9939"', JSON.stringify(server.url));

/** A folder with the client for TypeScript, its dependency and these files. */
async function folderWith(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  await writeTypescriptClient(join(folder.path, "svc-client"));
  symlinkSync(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  return folder;
}

const compile = (folder: string, file: string) => {
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "esnext", "--module", "preserve"];
  const types = ["--types", "bun", "--allowImportingTsExtensions"];
  return run([join(ROOT, "node_modules/.bin/tsc"), ...flags, ...types, file], folder);
};

test("the client for TypeScript compiles, asks and says what the server has refused", async () => {
  using folder = await folderWith({ "example.ts": atServer(blocks("ts").join("\n")) });
  expect(await compile(folder.path, "example.ts")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  const ran = await run([process.execPath, "example.ts"], folder.path);
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ran.stdout).toMatch(/^\d{3} commands\nok\n404 no such run.*\n$/);
}, 120_000);

test("the client for TypeScript has a type for each path, field and answer", async () => {
  const wrong = `
import { answerOf, createSvcClient } from "./svc-client/index.ts";
const svc = createSvcClient({ url: "http://127.0.0.1", token: "" });
// @ts-expect-error there is no such path
svc.GET("/nowhere");
// @ts-expect-error actions are missing
svc.POST("/execute", { body: { stop_on_error: true } });
// @ts-expect-error it is a list
const names: string = (await answerOf(svc.GET("/commands"))).commands;
export { names };
`;
  using folder = await folderWith({ "wrong.ts": wrong });
  expect(await compile(folder.path, "wrong.ts")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
}, 120_000);

test("the error of the client for TypeScript has the status, and when to ask again", async () => {
  const code = `
import { answerOf, createSvcClient, SvcError } from "./svc-client/index.ts";
const said = async (asked: Promise<unknown>) =>
  asked.catch((error) => error instanceof SvcError && console.log(error.status, error.help, error.retryAfter, error.message));
const token = "a-wrong-token";
await said(answerOf(createSvcClient({ url: process.env.SVC_URL ?? "", token }).GET("/jobs")));
const busy = async () => Response.json({ error: "slow down", help: "T9" }, { status: 429, headers: { "retry-after": "7" } });
await said(answerOf(createSvcClient({ url: "http://x/", token, fetch: busy }).GET("/jobs")));
const gateway = async () => new Response("<h1>Bad gateway</h1>", { status: 502 });
await said(answerOf(createSvcClient({ url: "http://x", token, fetch: gateway }).GET("/jobs")));
const elsewhere = async () => new Response(null, { status: 302, headers: { location: "http://y/" } });
await said(answerOf(createSvcClient({ url: "http://x", token, fetch: elsewhere }).GET("/jobs")));
`;
  using folder = await folderWith({ "errors.ts": code });
  const { stdout } = await run([process.execPath, "errors.ts"], folder.path);
  expect(stdout.split("\n")).toEqual([
    expect.stringMatching(/^401 .*undefined /),
    "429 T9 7 slow down",
    "502 undefined undefined HTTP 502",
    "302 undefined undefined HTTP 302",
    "",
  ]);
}, 60_000);

testWith("python3", "/usr/lib/python3/dist-packages/requests")(
  "the client for Python that the page has asks by the names of operations",
  async () => {
    const [client = "", example = ""] = blocks("python");
    using folder = temporaryFolder();
    const more = `
assert isinstance(svc.call("audit.list", limit=2)["rows"], list)
try:
    svc.call("health", odd=1)
except TypeError as error:
    print(error)
try:
    svc.call("execute.actions")
except SvcError as error:
    print(error.status, error)
`;
    writeFileSync(join(folder.path, "example.py"), `import os\n${client}\n${atServer(example)}${more}`);
    const ran = await run(["/usr/bin/python3", "example.py"], folder.path);
    expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
    expect(ran.stdout).toMatch(/^ok\nok\n404 no such run.*\nhealth has no odd\n400 .*actions.*\n$/);
  },
  60_000,
);
