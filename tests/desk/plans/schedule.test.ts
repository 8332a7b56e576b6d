/** Jobs on the desk that make and apply a plan, as `docs/plans.md` has it. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { post, testServer, until } from "../../support";
import { host } from "../fleet/support";

const page = readFileSync(new URL("../../../docs/plans.md", import.meta.url), "utf8");
const [, example = ""] = /```json\n(.*?)\n```/s.exec(page) ?? [];

type Listed = { plans: Array<{ maker: string; token: string; state: string; on: string }> };

/** A desk with one host in the lab, and a token that adds a job with these actions. */
async function deskWithJob(actions: string) {
  const [here, there] = [await testServer(), await testServer()];
  await (await here.service.addressBook()).addAll([{ ...host("a", there.server.url), tags: ["lab"] }], false);
  await here.service.runJobs();
  const store = tokenStore(configFiles(here.configDir), silentLog);
  const token = await addToken(store, { name: "nightly", scope: ["read", "operate"] });
  const call = (path: string, init: RequestInit = {}) =>
    here.call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  const script_path = join(here.configDir, "nightly.json");
  writeFileSync(script_path, actions);
  const added = await call(
    "/jobs/add_cron",
    post({ job_id: "n", script_path, cron_expression: "30 2 * * *" }),
  );
  return {
    ...{ here, there, call, added: (await added.json()) as object },
    async run() {
      return (await (await call("/jobs/run", post({ job_id: "n", wait: true }))).json()) as object;
    },
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

test("each run makes a plan of its own, with the rights of the token that added the job", async () => {
  await using made = await deskWithJob(example.replace("AC_screen_size", "AC_rest_api_status"));
  expect(made.added).toMatchObject({ token: "nightly", problem: null });
  for (let nth = 0; nth < 2; nth++) expect(await made.run()).toMatchObject({ status: "ok" });
  const plans = async () => ((await (await made.call("/plans")).json()) as Listed).plans;
  await until("both plans", async () => (await plans()).every(({ state }) => state === "done"));
  const plan = { maker: "nightly", token: "nightly", on: "tag:lab", counts: { ok: 1 } };
  expect(await plans()).toMatchObject([plan, plan]);
  const runs = (await made.there.service.runs()).list();
  expect(runs.map(({ status }) => status)).toEqual(["ok", "ok"]);
});

test("a job says what is wrong with the actions of the plan that it makes, and quotes none of their arguments", async () => {
  const wrong = example.replace(
    '["AC_screen_size"]',
    '["AC_sleep", {"seconds": "hidden"}], ["AC_screen_siz"]',
  );
  await using made = await deskWithJob(wrong);
  const { problem } = made.added as { problem: string };
  expect(problem).toContain("actions[0].seconds: expected a number");
  expect(problem).toContain("actions[1]: unknown command AC_screen_siz");
  expect(problem).not.toContain("hidden");
});

test("it makes no plan with more than that token allows", async () => {
  await using made = await deskWithJob(example.replace("AC_screen_size", "AC_config_export"));
  expect(await made.run()).toMatchObject({
    status: "error",
    error_text: expect.stringContaining("AC_config_export needs admin"),
  });
  expect(await (await made.here.call("/plans")).json()).toEqual({ plans: [] });
});

test("it fails when a host of the plan fails, and its other waves do not begin", async () => {
  await using made = await deskWithJob(
    example.replace('["AC_screen_size"]', '["AC_assert", {"name": "none", "op": "eq", "value": 1}]'),
  );
  const book = await made.here.service.addressBook();
  await book.addAll(
    ["b", "c"].map((label, n) => ({
      ...host(label, made.there.server.url.replace("127.0.0.1", `127.0.0.${n + 2}`)),
      tags: ["lab"],
    })),
    false,
  );
  expect(await made.run()).toMatchObject({
    status: "error",
    error_text: expect.stringMatching(
      /the plan [0-9a-f-]+ is paused \(1 failed, more than 0\): 1 failed, 2 planned/,
    ),
  });
});
