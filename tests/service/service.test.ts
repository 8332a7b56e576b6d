import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSentIndex } from "../../src/host/sync/index-db";
import { createService, type ServiceOptions } from "../../src/service/service";
import { temporaryFolder, testService } from "../support";

test("a feature that fails to stop does not keep others from stopping, and its error is thrown", async () => {
  await using made = testService();
  const { service } = made;
  const audit = await service.audit();
  const history = await service.history();
  const stopped: string[] = [];
  Object.assign(history, {
    close() {
      throw new Error("the disk is gone");
    },
  });
  const close = audit?.close.bind(audit);
  Object.assign(audit ?? {}, {
    async close() {
      await close?.();
      stopped.push("audit");
    },
  });
  await expect(service.stop()).rejects.toThrow("the disk is gone");
  expect(stopped).toEqual(["audit"]);
  await service.stop();
  expect(stopped).toEqual(["audit"]);
});

test("opens a {config_dir} that svc 0.1.0 has filled", async () => {
  using folder = temporaryFolder();
  const fixture = join(import.meta.dir, "..", "fixtures", "config-0.1.0", "config");
  const configDir = join(folder.path, "config");
  cpSync(fixture, configDir, { recursive: true });
  await using stack = new AsyncDisposableStack();
  const service = createService({ configDir });
  stack.defer(() => service.stop());
  const { url } = await (await service.rest()).start({ port: 0, rate_limit: 0 });
  const owner = readFileSync(join(fixture, "rest_token"), "utf8").trim();
  const send = (path: string, token = owner, method = "GET") =>
    fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
  const get = async (path: string) => JSON.parse(await (await send(path)).text());
  const status = async (path: string, token: string) => (await send(path, token)).status;

  const tokens = {
    anna: "ES67U4aBWVXPnaWwOOwdInIjgz9FsF9N",
    prometheus: "ES_eHa6NpqNrwJdd24tUQQyQWxsTy3kb",
    desk: "Q2xb-Mvg6G9TYn76Q9Uo25t5Q_H74pGw",
    gone: "SiY8Ncl-G--D5Fe271U_EYVsngvNVvWU",
  };
  expect([await status("/jobs", tokens.anna), await status("/metrics", tokens.anna)]).toEqual([200, 403]);
  expect([await status("/jobs", tokens.prometheus), await status("/metrics", tokens.prometheus)]).toEqual([
    403, 200,
  ]);
  expect([await status("/jobs", tokens.desk), await status("/metrics", tokens.desk)]).toEqual([200, 200]);
  expect(await status("/jobs", tokens.gone)).toBe(401);

  expect((await get("/audit/verify")).ok).toBe(true);
  const [odd] = (await get("/audit/list?event_type=odd")).rows;
  expect(odd.id).toBe(359);
  expect(odd.detail).toContain("bell\x07, escape\x1b[31m, del\x7f, u2028\u2028");
  const { jobs } = await get("/jobs");
  const limits = jobs.map(({ timeout_s }: { timeout_s: number }) => timeout_s);
  expect(limits).toEqual([3_600, 600, 3_600, 3_600, 3_600]);
  expect(jobs.map(({ job_id, enabled }: { job_id: string; enabled: boolean }) => [job_id, enabled])).toEqual([
    ["refresh", true],
    ["nightly", true],
    ["paused", false],
    ["once", true],
    ["1e02ab1d", true],
  ]);
  const { runs } = await get("/history");
  expect(runs).toHaveLength(19);
  expect(new Set(runs.map((run: { status: string }) => run.status))).toEqual(
    new Set(["ok", "error", "timeout"]),
  );
  expect(await get("/admin/hosts")).toMatchObject([
    { label: "other", tags: ["lab", "berlin"] },
    { label: "lab-02", tags: ["lab"] },
    { label: "Büro 3", base_url: "https://10.0.0.7:9939/svc" },
    { label: "lab-04" },
  ]);
  const bundle = JSON.parse(await (await send("/config/export", owner, "POST")).text());
  expect(Object.keys(bundle.files).sort()).toEqual([
    "address_book.json",
    "admin_hosts.json",
    "host_fingerprint",
    "known_hosts.json",
    "remote_host_id",
    "trusted_viewers.json",
    "viewer_id",
  ]);
  const [index = ""] = readdirSync(join(configDir, "sync")).filter((name) => name.startsWith("5734"));
  using sent = openSentIndex(join(configDir, "sync", index));
  expect([...sent.load().keys()]).toEqual(["report.txt"]);
  // Nothing was damaged, so nothing was set aside.
  expect(readdirSync(configDir).filter((name) => /broken|damaged|corrupt/.test(name))).toEqual([]);
});

test("an unusable option of a service is refused by its name, before anything is made", () => {
  const cases: Array<[Partial<ServiceOptions> & { more?: number }, string]> = [
    [{ inbox_quota: -1 }, "inbox_quota: expected"],
    [{ inbox: "" }, "inbox: must not be empty"],
    [{ relay_only: true }, "ice-server: missing"],
    [{ more: 1 }, "more: unknown field"],
  ];
  for (const [options, message] of cases) {
    expect(() => createService({ configDir: "/nowhere", ...options })).toThrow(message);
  }
});
