/** Who answers a command: the server that runs on its folder, or its own process, which then owns the folder. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import * as v from "valibot";
import { withLateService } from "../../src/cli/partial-service";
import { newService } from "../../src/cli/subcommand";
import { answerHere } from "../../src/cli/view";
import { localCaller } from "../../src/core/caller";
import { NO_INPUT } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import { addJob, removeJob } from "../../src/host/scheduler/operations";
import { messageOf, noScreen } from "../../src/lib/errors";
import { isLocked } from "../../src/lib/lock";
import { silentLog } from "../../src/lib/log";
import { ownForChange } from "../../src/lib/ownership";
import { configFiles } from "../../src/lib/paths";
import { operations } from "../../src/operations";
import { answerFor } from "../../src/service/answer";
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

describe("the service of a command", () => {
  /** Adds a job as a command does. @returns the folders for which it made a service. */
  async function madeFor(configDir: string): Promise<string[]> {
    const made: string[] = [];
    const add = withLateService(
      { configDir, json: true },
      (service) => answerHere(service, addJob, JOB),
      (globals) => {
        made.push(`${globals.configDir}`);
        return newService(globals);
      },
    );
    expect(await add).toMatchObject({ job_id: "a" });
    return made;
  }

  test("is not made where the server answers", async () => {
    await using host = await testServer({ token: "not-known-there" });
    expect(await madeFor(host.configDir)).toEqual([]);
  });

  test("is made where no server runs", async () => {
    using folder = temporaryFolder();
    expect(await madeFor(folder.path)).toEqual([folder.path]);
  });
});

describe("what needs a display", () => {
  /** Answers where there is a display. */
  const lookingOn = (hasDisplay: (service: unknown) => boolean) =>
    operation({
      ...{ name: "test.look", summary: "Test", scope: "admin", answeredBy: "display", input: NO_INPUT },
      output: v.string(),
      run(service) {
        if (!hasDisplay(service)) throw noScreen("no display: DISPLAY is not set");
        return "a picture";
      },
    });

  /** What `ask` gets beside a server, and what it is warned of. @param display that of the terminal (default: the one of the server). */
  async function beside(hasDisplay: (service: unknown, server: unknown) => boolean, display?: string) {
    let server: unknown;
    using stack = new DisposableStack();
    const look = lookingOn((service) => hasDisplay(service, server));
    await using host = await testServer({ service: { operations: [look] } });
    server = host.service;
    if (display !== undefined) {
      const { DISPLAY } = process.env;
      stack.defer(() => {
        if (DISPLAY === undefined) delete process.env.DISPLAY;
        else process.env.DISPLAY = DISPLAY;
      });
      process.env.DISPLAY = display;
    }
    const warned: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warned.push(text) };
    const other = createService({ configDir: host.configDir, handsOver: true, audit: false, log });
    const answer = await answerHere(other, look, {}).catch((error) => messageOf(error));
    await other.stop();
    return { answer, warned };
  }

  const nobodyElse = { answer: "a picture", warned: [] };

  test("is answered by the server that sees the same one, as its hands on it are ready", async () => {
    expect(await beside((service, server) => service === server)).toEqual(nobodyElse);
  });

  test("is answered by the process of an agent, which numbers elements itself", async () => {
    let server: unknown;
    const asked: boolean[] = [];
    const look = lookingOn((service) => {
      asked.push(service === server);
      return true;
    });
    await using host = await testServer({ service: { operations: [look] } });
    server = host.service;
    const other = createService({ configDir: host.configDir, handsOver: true, audit: false });
    const caller = localCaller(other, "api", { grant: { name: null, scopes: ["admin"] } });
    expect(await answerFor(other, look, {}, caller)).toBe("a picture");
    expect(asked).toEqual([false]);
    await other.stop();
  });

  test("is answered by the terminal where the server, a service, reaches none", async () => {
    expect(await beside((service, server) => service !== server)).toEqual(nobodyElse);
  });

  test("is answered by a terminal that has another one", async () => {
    let asked = 0;
    const answer = await beside((service, server) => {
      if (service === server) asked++;
      return true;
    }, ":4711");
    expect([answer, asked]).toEqual([nobodyElse, 0]);
  });

  test("is answered by the server where the terminal has none, which the terminal says", async () => {
    expect(await beside((service, server) => service === server, ":4711")).toEqual({
      answer: "a picture",
      warned: [
        "no display: DISPLAY is not set: it was the server that runs here which answered, on its own display",
      ],
    });
  });

  test("fails with both reasons where neither has one", async () => {
    const { answer } = await beside(() => false, ":4711");
    expect(answer).toBe(
      "no display: DISPLAY is not set; and the server that runs here says: no display: DISPLAY is not set",
    );
  });
});

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("what the owner does for a command is a change, or shows secrets", () => {
  const odd = operations.filter((one) => one.answeredBy === "owner" && !one.changes && !one.reveals);
  expect(odd.map(({ name }) => name)).toEqual([]);
});

test("what needs the rights, the display or the files of a terminal stays there", () => {
  const stays = /^(desktop\.|execute|scripts\.run|flow\.|service\.|release\.|audit\.verify|diagnostics)/;
  const moved = operations.filter(
    ({ answeredBy, name }) => answeredBy && answeredBy !== "display" && stays.test(name),
  );
  // The yes of whoever sits there is for the process that uses the desktop: the server, where one runs.
  expect(moved.map(({ name }) => name)).toEqual(["desktop.allow"]);
});

test("each change of a command is made by the owner of the folder, or there is a reason why its own process makes it", () => {
  const inTerminal: Readonly<Record<string, RegExp>> = {
    "it acts on the desktop of the terminal": /^(desktop\.(?!record$)|elements\.)/,
    "it runs with the environment and the rights of the terminal": /^(execute\.file|scripts\.run)$/,
    "it lasts as long as the terminal": /^(sync\.start|usb\.watch\.start)$/,
    "it reads or writes files of its user": /^(admin\.(export|upgrade)|data\.add|turn\.bundle)$/,
    "it changes the service or the program that the owner is": /^(service\.(un)?install|release\.upgrade)$/,
  };
  const ownChanges = operations.filter(
    ({ changes, leftOut, answeredBy = "display" }) => changes && !leftOut?.cli && answeredBy === "display",
  );
  const reasons = Object.values(inTerminal);
  const without = ownChanges.filter(({ name }) => !reasons.some((names) => names.test(name)));
  expect(without.map(({ name }) => name)).toEqual([]);
  const unused = reasons.filter((names) => !ownChanges.some(({ name }) => names.test(name)));
  expect(unused).toEqual([]);
});
