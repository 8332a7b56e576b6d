/** Hosts behind `link:` are asked as those behind https, in the process of the hub and in others of its desk. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { deadlineIn, RemoteError, type Request } from "../../../src/client/carrier";
import { carrierTo } from "../../../src/client/connection";
import { followEvents } from "../../../src/client/events";
import { faultOf } from "../../../src/desk/link/relay";
import { unavailable } from "../../../src/lib/errors";
import type { Hub } from "../../../src/wire/link/links";
import { IDLE_SESSIONS } from "../../client/support";
import { post, SVC, TOKEN, until } from "../../support";
import { entry, GONE, ID, linkedDesk } from "./fake-hub";

const SOURCE_ROOT = join(import.meta.dir, "..", "..", "..", "src");

const NOT_LINKED = "not linked (last seen never)";

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("in the process of the hub", () => {
  test("a poll asks linked hosts, and says which has no link", async () => {
    await using made = await linkedDesk();
    const polled = await (await made.desk.call("/admin/poll")).json();
    expect(polled).toMatchObject([
      { label: "lab", base_url: `link:${ID}`, healthy: true, error: null, job_count: 0 },
      { label: "gone", base_url: `link:${GONE}`, healthy: false, error: NOT_LINKED, sessions: null },
    ]);
  });

  test("a broadcast runs there; what did not reach a host is known not to have run", async () => {
    await using made = await linkedDesk();
    const body = { actions: [["AC_set_var", { name: "a", value: 7 }]], on: "all" };
    const answer = await made.desk.call("/admin/broadcast", post(body));
    expect(linesOf(await answer.text()).toSorted((a, b) => (a.label < b.label ? 1 : -1))).toMatchObject([
      { label: "lab", status: "ok", delivered: true },
      { label: "gone", status: "unreachable", delivered: false, error: NOT_LINKED },
    ]);
  });

  test("events are followed", async () => {
    await using made = await linkedDesk();
    const server = (await made.desk.service.addressBook()).server("lab");
    await made.host.call("/execute", post({ actions: [["AC_set_var", { name: "a", value: 7 }]] }));
    const signal = new AbortController().signal;
    for await (const one of followEvents(server, { types: ["run.ended"], after: "oldest", signal })) {
      expect(one).toMatchObject({ kind: "event", type: "run.ended" });
      break;
    }
  });
});

describe("in another process of the desk", () => {
  test("svc admin poll asks them through the server, which has no row of it", async () => {
    await using made = await linkedDesk({ rate_limit: 1, rate_burst: 1 });
    const { stdout, exitCode } = await made.svc("admin", "poll", "--json");
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([
      1,
      [
        { label: "lab", healthy: true },
        { label: "gone", healthy: false, error: NOT_LINKED },
      ],
    ]);
    expect(made.rows()).toEqual([]);
  });

  test.each([
    "sessions list",
    "jobs list",
    "commands",
    "history",
    "diagnose --only disk_space",
    "scripts list",
  ])("svc %s --on asks them", async (line) => {
    await using made = await linkedDesk();
    const { stdout, stderr } = await made.svc(...line.split(" "), "--on", "all", "--json");
    expect([linesOf(stdout), stderr]).toMatchObject([
      [
        { label: "lab", ok: true },
        { label: "gone", ok: false, error: NOT_LINKED },
      ],
      expect.stringContaining(`gone: ${NOT_LINKED}`),
    ]);
  });

  test("a broadcast runs there, with a row of what was sent", async () => {
    await using made = await linkedDesk();
    const actions = JSON.stringify([["AC_set_var", { name: "a", value: "x".repeat(100_000) }]]);
    await Bun.write(`${made.desk.configDir}/list.json`, actions);
    const { stdout } = await made.svc(
      ...["admin", "broadcast", `${made.desk.configDir}/list.json`, "--on", "all", "--json"],
    );
    expect(JSON.parse(stdout)).toMatchObject([
      { label: "lab", status: "ok" },
      { label: "gone", status: "unreachable", delivered: false, error: NOT_LINKED },
    ]);
    // The server that has the links runs it.
    expect(made.rows()).toContainEqual(expect.stringMatching(/^admin\.broadcast_execute on="all" hosts=2 /));
    expect(made.rows().filter((row) => row.includes(ID))).toEqual([]);
  });

  test("a list that fails there has its error, as over https", async () => {
    await using made = await linkedDesk();
    await Bun.write(`${made.desk.configDir}/list.json`, '[["AC_scheduler_remove_job", {"job_id": "none"}]]');
    const run = await made.svc(
      ...["admin", "broadcast", `${made.desk.configDir}/list.json`, "--on", "lab", "--json"],
    );
    expect(JSON.parse(run.stdout)).toMatchObject([{ label: "lab", status: "failed", delivered: true }]);
  });

  test("svc events --on prints theirs", async () => {
    await using made = await linkedDesk();
    await made.host.call("/execute", post({ actions: [["AC_set_var", { name: "a", value: 7 }]] }));
    const { stdout, stderr } = await made.svc("events", "--on", "all", "--types", "run.ended", "--json");
    expect(linesOf(stdout)).toMatchObject([{ label: "lab", type: "run.ended" }]);
    expect(stderr).toContain(`gone: ${NOT_LINKED}`);
  });

  test("a deadline that passes has the words that it has over https", async () => {
    await using made = await linkedDesk();
    const { promise: silence, resolve: answer } = Promise.withResolvers<unknown>();
    const hub = { ask: () => silence, open: () => silence };
    Object.assign(made.desk.service, { hub: () => hub });
    const { stdout } = await made.svc("admin", "poll", "--on", "lab", "--timeout", "1", "--json");
    expect(JSON.parse(stdout)).toMatchObject([{ label: "lab", healthy: false, error: "timeout after 1 s" }]);
    // Else the server would wait for it as it stops.
    answer({ status: 503, body: Buffer.alloc(0) });
  });

  test.each([
    ["GET", {}, false],
    ["GET", { sent: true }, false],
    ["POST", {}, false],
    ["POST", { sent: true }, true],
  ] as const)("a %s that the server fails itself, with %o, may have run: %p", (method, more, sent) => {
    const expected = { fault: "unreachable", message: "the server of this desk: x", sent };
    expect(faultOf(unavailable("x", more), method)).toMatchObject(expected);
  });

  test.each([
    [
      "may have run: its host is asked for it, and sent no other",
      true,
      "failed",
      "the link was lost: it may have run",
    ],
    ["is known not to have run where the link was lost before", false, "unreachable", "the link was lost"],
  ])("a list that was handed to a link which is then lost %s", async (_title, sent, status, error) => {
    await using made = await linkedDesk();
    const asked: unknown[] = [];
    const ask: Hub["ask"] = async (_id, { path, body, once }) => {
      asked.push([path, once, `${body}`.includes("AC_set_var")]);
      // The other process does not know which records the host has, and asks first.
      const unseen = { id: "any", state: "unseen", records: "any", outcome: null };
      if (asked.length === 1) return { status: 200, body: Buffer.from(JSON.stringify(unseen)) };
      throw new RemoteError("unreachable", "the link was lost", sent);
    };
    Object.assign(made.desk.service, { hub: () => ({ ask }) });
    const list = `${made.desk.configDir}/list.json`;
    await Bun.write(list, '[["AC_set_var", {"name": "a", "value": 7}]]');
    const { stdout } = await made.svc("admin", "broadcast", list, "--on", "lab", "--json");
    expect(JSON.parse(stdout)).toMatchObject([{ status, delivered: sent, error }]);
    const [question, first, ...later] = asked;
    expect([question, first]).toEqual([
      ["/plans/jobs", true, false],
      ["/plans/jobs", true, true],
    ]);
    expect(later).toEqual(Array(sent ? 3 : 0).fill(["/plans/jobs", true, false]));
  });

  test("what nobody waits for any longer is cancelled on the link", async () => {
    await using made = await linkedDesk();
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const ask: Hub["ask"] = (_id, _request, _limits, signal) => {
      asked.resolve(signal);
      return new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
    };
    Object.assign(made.desk.service, { hub: () => ({ ask }) });
    const env = { ...process.env, SVC_CONFIG_DIR: made.desk.configDir, SVC_TOKEN: TOKEN };
    const child = Bun.spawn([...SVC, "admin", "poll", "--on", "lab", "--timeout", "60"], {
      env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    const signal = await asked.promise;
    child.kill();
    await until("the request to be cancelled", () => signal?.aborted);
    await child.exited;
  });

  test.each([true, undefined])(
    "a change that is to be sent once (%p) is so over the link too",
    async (once) => {
      await using made = await linkedDesk();
      const asked: Request[] = [];
      const ask: Hub["ask"] = async (_id, request) => {
        asked.push(request);
        return { status: 200, body: new Uint8Array() };
      };
      Object.assign(made.desk.service, { hub: () => ({ ask }) });
      const request = { method: "POST", path: "/execute", body: "{}", once };
      const code = `
      import { createLinkWay } from "${SOURCE_ROOT}/desk/link/via";
      const way = createLinkWay({ configDir: process.env.SVC_CONFIG_DIR, hub: () => null });
      using carrier = await way.via("link:${ID}");
      const deadline = { at: performance.now() + 60_000, ms: 60_000 };
      await carrier.ask(${JSON.stringify(request)}, { deadline, maxBytes: 1_000 });`;
      const env = { ...process.env, SVC_CONFIG_DIR: made.desk.configDir, SVC_TOKEN: TOKEN };
      const child = Bun.spawn([process.execPath, "-e", code], {
        env,
        stdio: ["ignore", "inherit", "inherit"],
      });
      expect(await child.exited).toBe(0);
      expect(asked).toMatchObject([{ path: "/execute", once: once ?? false }]);
    },
  );

  test("a poll of many hosts takes a few connections of the server", async () => {
    await using made = await linkedDesk();
    const hosts = Array.from({ length: 150 }, (_, nth) => entry(`h${nth}`, `${nth}`.padStart(32, "0")));
    await Bun.write(made.files.formerAdminHosts, JSON.stringify({ hosts }));
    let [now, most] = [0, 0];
    const ask: Hub["ask"] = async (_id, { path }) => {
      now += 1;
      most = Math.max(most, now);
      await Bun.sleep(1);
      now -= 1;
      const body = path === "/sessions" ? IDLE_SESSIONS : '{"jobs":[]}';
      return { status: 200, body: Buffer.from(body) };
    };
    Object.assign(made.desk.service, { hub: () => ({ ask }) });
    const { stdout } = await made.svc("admin", "poll", "--timeout", "60", "--json");
    const healthy = JSON.parse(stdout).filter((one: { healthy: boolean }) => one.healthy);
    expect(healthy).toHaveLength(150);
    expect(most).toBeLessThanOrEqual(32);
  });

  test("an error says where there is no server, or one that takes no links", async () => {
    await using made = await linkedDesk();
    Object.assign(made.desk.service, { hub: () => null });
    const poll = async () => JSON.parse((await made.svc("admin", "poll", "--on", "lab", "--json")).stdout);
    expect(await poll()).toMatchObject([
      { error: "the server of this desk: the server of this desk takes no links: start it with --hub" },
    ]);
    await (await made.desk.service.rest()).stop();
    expect(await poll()).toMatchObject([
      { error: "no server runs on this desk, which its hosts dial: start `svc serve --hub`" },
    ]);
  });
});

test("an address of which nobody knows the way is unreachable", async () => {
  const server = { url: `link:${ID}`, token: TOKEN, trust: { kind: "system" } } as const;
  await expect(carrierTo(server)).rejects.toMatchObject({
    fault: "unreachable",
    message: `no way to link:${ID} from here`,
  });
});

test("a link that is asked no more ends what is open on it", async () => {
  await using made = await linkedDesk();
  const server = (await made.desk.service.addressBook()).server("lab");
  const carrier = await carrierTo(server);
  const { pieces } = await carrier.open("/events", deadlineIn(60_000), 60_000);
  const rest = (async () => {
    for await (const _ of pieces);
  })();
  carrier[Symbol.dispose]();
  await expect(rest).rejects.toMatchObject({ name: "RemoteError" });
});
