/** What a desk may do on a host is decided there, and known on both sides. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { DESK_SCOPES } from "../../../src/core/rights";
import { broadcastExecute, poll } from "../../../src/desk/fleet/operations/fleet";
import { listHosts } from "../../../src/desk/fleet/operations/hosts";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { setDesk, showDesk } from "../../../src/host/join/operations";
import type { Service } from "../../../src/service/service";
import { acceptEndpoint } from "../../../src/wire/join/endpoints";
import { JOIN_REQUEST } from "../../../src/wire/join/messages";
import { selfSigned } from "../../client/support";
import { temporaryFolder, testWith } from "../../support";
import { joinString, joinWith, madeUpRequest, sendJoin, tlsServer } from "./support";

const UNAME = [["AC_shell_command", { shell_command: ["uname", "-a"] }]];

const own = (service: Service) => localCaller(service, "cli");
const allowedHere = async ({ service }: { service: Service }) =>
  (await callOperation(service, showDesk, {}, own(service))).desk?.allows;
const listed = async ({ service }: { service: Service }) =>
  (await callOperation(service, listHosts, {}, own(service))).map(({ allows }) => allows);
/** As the command line does beside a server, which uses it before the command returns. */
async function set({ service }: { service: Service }, ...allow: string[]) {
  await callOperation(service, setDesk, { allow }, own(service));
  await service.refresh();
}

/** What the desk is told before it sends `actions`, and what becomes of them. */
async function broadcast({ service }: { service: Service }, actions: unknown = UNAME) {
  const warned: string[] = [];
  const caller = localCaller(service, "cli", { warn: (text) => warned.push(text) });
  const [result] = await callOperation(service, broadcastExecute, { actions, on: "all" }, caller);
  return { warned, ok: result?.ok, error: result?.error };
}

const SHELL = { service: { allow_shell: true } };

test("a host that lets its desk do everything runs programs for it, and one that does not says what would", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer(SHELL);
  const { label, allows } = await joinWith(host, (await joinString(desk)).join_string);
  expect(allows).toEqual([...DESK_SCOPES]);
  const why = "AC_shell_command needs admin: `svc desk set --allow admin` there allows it";
  const refused = await broadcast(desk);
  expect(refused).toEqual({
    warned: [`1 of 1 hosts will refuse it (${label}): ${why}`],
    ok: false,
    error: expect.stringContaining(
      "AC_shell_command needs admin: `svc desk set --allow` on this host lets its desk do more",
    ),
  });
  const made = await callOperation(desk.service, newPlan, { actions: UNAME, on: "all" }, own(desk.service));
  expect(made.refusing).toEqual([{ label, why }]);

  await set(host, "admin");
  expect(await broadcast(desk)).toEqual({ warned: [], ok: true, error: undefined });
  expect([await allowedHere(host), await listed(desk)]).toEqual([["admin"], [["admin"]]]);
  await set(host, "desk");
  expect((await broadcast(desk)).ok).toBe(false);
});

test("a host joins with the rights that it says, keeps them when it joins again, and the desk knows them at once", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer(SHELL);
  const { join_string } = await joinString(desk, { uses: 9 });
  expect((await joinWith(host, join_string, { allow: ["admin"] })).allows).toEqual(["admin"]);
  expect([await allowedHere(host), await listed(desk)]).toEqual([["admin"], [["admin"]]]);
  expect(await broadcast(desk)).toEqual({ warned: [], ok: true, error: undefined });
  expect((await joinWith(host, (await joinString(desk)).join_string)).allows).toEqual(["admin"]);
  await joinWith(host, (await joinString(desk)).join_string, { allow: ["desk"] });
  expect([await allowedHere(host), await listed(desk)]).toEqual([[...DESK_SCOPES], [[...DESK_SCOPES]]]);
  await expect(set(host, "root")).rejects.toThrow("allow");
});

test("a desk learns from a poll what it may do, and which flag a server was started without", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  await set(host, "read", "operate");
  await callOperation(desk.service, poll, {}, own(desk.service));
  expect(await listed(desk)).toEqual([["read", "operate"]]);
  await set(host, "admin");
  const { warned, error } = await broadcast(desk);
  const flag = "AC_shell_command needs svc to be started with --allow-shell (svc serve, svc execute)";
  expect(warned).toEqual([`1 of 1 hosts will refuse it (${label}): ${flag}`]);
  expect(error).toContain("--allow-shell");
});

test("the rights in a request to join are signed, and a desk of before joins a host without them", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk);
  const request = madeUpRequest(join_string, `${desk.configDir}/forger`, { allow: ["read"] });
  expect((await sendJoin(desk, { ...request, allow: ["admin"] })).status).toBe(403);
  expect(JOIN_REQUEST.entries.allow.type).toBe("optional");
});

testWith("openssl")(
  "a host that says more than an older desk knows asks again as that one expects",
  async () => {
    using folder = temporaryFolder();
    const pair = selfSigned(folder.path, "older", "IP:127.0.0.1");
    await using desk = await tlsServer();
    await using host = await tlsServer();
    const asked: object[] = [];
    using older = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: Bun.file(pair.cert), key: Bun.file(pair.key) },
      async fetch(request) {
        expect(new URL(request.url).pathname).toBe(`${acceptEndpoint.http?.path}`);
        const body = (await request.json()) as object;
        asked.push(body);
        if ("allow" in body || "nats_key" in body)
          return Response.json({ error: "allow: unknown field" }, { status: 400 });
        return Response.json({
          host_id: "0".repeat(32),
          label: "h",
          desk_key: "A".repeat(43),
          nonce: "A".repeat(22),
          carriers: [{ kind: "link" }],
        });
      },
    });
    const { spkiPin } = await import("../../../src/lib/spki");
    const { formatJoinString, parseJoinString } = await import("../../../src/wire/join/join-string");
    const parts = parseJoinString((await joinString(desk)).join_string);
    const pin = spkiPin(await Bun.file(pair.cert).text());
    const string = formatJoinString({ ...parts, pin, address: `127.0.0.1:${older.port}` });
    expect((await joinWith(host, string, { allow: ["admin"] })).allows).toEqual(["admin"]);
    expect(asked.map((body) => "allow" in body)).toEqual([true, false, true, false]);
  },
);
