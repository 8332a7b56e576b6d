/** Who answers a command: the server that runs on its folder, or its own process, which then owns the folder. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { answerHere } from "../../src/cli/view";
import { addJob, removeJob } from "../../src/host/scheduler/operations";
import { isLocked } from "../../src/lib/lock";
import { ownForChange } from "../../src/lib/ownership";
import { configFiles } from "../../src/lib/paths";
import { operations } from "../../src/operations";
import { createService } from "../../src/service/service";
import { temporaryFolder, testServer, testService } from "../support";

const JOB = { script_path: "/x.json", interval_seconds: 60, job_id: "a" };

describe("a change", () => {
  test("is made by the server that runs, and is in force when the command has its answer", async () => {
    await using host = await testServer({ token: "not-known-there" });
    const other = createService({ configDir: host.configDir, handsOver: true });
    expect(await answerHere(other, addJob, JOB)).toMatchObject({ job_id: "a", token: null });
    const { jobs } = (await (await fetch(`${host.server.url}/jobs`, bearer("not-known-there"))).json()) as {
      jobs: Array<{ job_id: string }>;
    };
    expect(jobs.map(({ job_id }) => job_id)).toEqual(["a"]);
    expect(host.service.events().newest).toBeGreaterThan(0);
    expect(other.events().newest).toBe(0);
    await other.stop();
  });

  test("is made by the command itself without a server, which owns the folder for no longer", async () => {
    await using made = testService();
    expect(await answerHere(made.service, addJob, JOB)).toMatchObject({ job_id: "a" });
    expect(await answerHere(made.service, removeJob, { job_id: "a" })).toEqual({ removed: true });
    expect(isLocked(configFiles(made.configDir).ownerLock)).toBe(false);
  });

  test("waits for another one, and a server for both", async () => {
    await using made = testService();
    const ends = Promise.withResolvers<void>();
    const first = ownForChange(made.configDir, "config.set", () => ends.promise);
    const second = answerHere(made.service, addJob, JOB);
    const started = (await made.service.rest()).start({ port: 0 });
    expect(existsSync(configFiles(made.configDir).jobs)).toBe(false);
    ends.resolve();
    expect(await second).toMatchObject({ job_id: "a" });
    await Promise.all([first, started]);
  });

  test("that is refused leaves no folder behind", async () => {
    using folder = temporaryFolder();
    const configDir = `${folder.path}/config`;
    const service = createService({ configDir });
    await expect(answerHere(service, removeJob, { job_id: "" })).rejects.toMatchObject({ code: "bad_input" });
    expect(existsSync(configDir)).toBe(false);
    await service.stop();
  });
});

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("what the owner does for a command is a change, or shows secrets", () => {
  const odd = operations.filter((one) => one.answeredBy === "owner" && !one.changes && !one.reveals);
  expect(odd.map(({ name }) => name)).toEqual([]);
});

test("what needs the rights, the display or the files of a terminal stays there", () => {
  const stays =
    /^(desktop\.|execute|scripts\.run|flow\.|service\.|release\.|audit\.(verify|clear)|diagnostics)/;
  const moved = operations.filter((one) => one.answeredBy && stays.test(one.name));
  expect(moved.map(({ name }) => name)).toEqual([]);
});
