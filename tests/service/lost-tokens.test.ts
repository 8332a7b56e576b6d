/** What a token has begun outlives a tokens.json that is missing or broken: jobs, webhooks, plans. */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { createService } from "../../src/service/service";
import { addToken, removeToken, tokenStore } from "../../src/trust/named-tokens";
import { temporaryFolder } from "../support";

const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  "is missing": (file) => rmSync(file),
  "is broken": (file) => writeFileSync(file, readFileSync(file, "utf8").slice(0, -9)),
  "has a slip in the entry": (file) =>
    writeFileSync(file, readFileSync(file, "utf8").replace('"operate"', '"opperate"')),
  "has a slip in the name": (file) =>
    writeFileSync(file, readFileSync(file, "utf8").replace('"name": "ann"', '"nane": "ann"')),
};

async function folderOfAnn() {
  const folder = temporaryFolder();
  const files = configFiles(folder.path);
  const script = join(folder.path, "script.json");
  writeFileSync(script, '[["AC_set_var", {"name": "x", "value": 1}]]');
  const service = createService({ configDir: folder.path, log: silentLog });
  await service.prepareFolder();
  const tokens = tokenStore(files, silentLog);
  await addToken(tokens, { name: "ann", scope: ["operate"] });
  const job = {
    job_id: "hers",
    script_path: script,
    interval_seconds: 86_400,
    token: "ann",
    scopes: ["operate"],
  };
  writeFileSync(files.jobs, JSON.stringify({ jobs: [job] }));
  const { hooks } = await service.webhooks();
  await hooks.add({ name: "hers", url: "https://192.0.2.1/", types: [], allow_private: false, token: "ann" });
  const plans = await service.plans();
  const spec = {
    kind: "plan",
    ...{ on: "all", commands: [], delivery_timeout_s: 1, timeout_s: 1, waves: [1], pause_s: 0 },
    ...{ max_failures: 0, queue: true, max_parallel: 1, expires_s: 3_600 },
  } as const;
  const hosts = [{ label: "lab", identity: "https://192.0.2.1" }];
  const plan = await plans.create("{}", "digest", spec, hosts, "ann");
  writeFileSync(
    files.formerAdminHosts,
    JSON.stringify({
      hosts: [{ label: "lab", base_url: "https://192.0.2.1", token: "token-of-lab", tags: [] }],
    }),
  );
  plans.ledger.apply(plan.seq, "ann", Date.now());
  await (await import("../../src/lib/folder-files")).createFolderFiles(folder.path, silentLog)();
  return {
    service,
    files,
    async state() {
      await service.refresh();
      await plans.runner.wake();
      const [found] = await (await service.scheduler()).jobs();
      return {
        job: found?.disabled_reason ?? null,
        hook: hooks.get("hers").disabled ?? null,
        plan: plans.ledger.plan(plan.seq).state,
      };
    },
    runNow: async () => (await (await service.scheduler()).runNow("hers")).ended,
    async takeOver() {
      plans.runner.takeOver();
    },
    remove: () => removeToken(tokens, "ann"),
    async [Symbol.asyncDispose]() {
      await service.stop();
      folder[Symbol.dispose]();
    },
  };
}

const ALIVE = { job: null, hook: null, plan: "running" } as const;

for (const [how, lose] of Object.entries(LOSSES)) {
  test(`nothing of a token ends for good while tokens.json ${how}, no job of it begins, and all goes on once it is restored`, async () => {
    await using ann = await folderOfAnn();
    await ann.takeOver();
    expect(await ann.state()).toEqual(ALIVE);
    const whole = readFileSync(ann.files.tokens, "utf8");
    lose(ann.files.tokens);
    expect(await ann.state()).toEqual(ALIVE);
    expect(await ann.runNow()).toMatchObject({ status: expect.not.stringMatching("ok") });
    const adding = addToken(tokenStore(ann.files, silentLog), { name: "bob", scope: ["read"] });
    if (how.includes("slip")) await adding;
    else await expect(adding).rejects.toThrow("restore it from a backup");
    expect(await ann.state()).toEqual(ALIVE);
    writeFileSync(ann.files.tokens, whole);
    expect(await ann.state()).toEqual(ALIVE);
    expect(await ann.runNow()).toMatchObject({ status: "ok" });
  });
}

test("all of it ends when the token is removed", async () => {
  await using ann = await folderOfAnn();
  await ann.takeOver();
  await ann.remove();
  await ann.service.endWorkOf("ann");
  expect(await ann.state()).toMatchObject({
    job: expect.stringContaining("revoked"),
    hook: expect.stringContaining("revoked"),
    plan: "cancelled",
  });
});
