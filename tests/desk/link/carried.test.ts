/** What a list takes along to a linked host: the trace that it belongs to, and names of secrets, which that host has itself. */
import { expect, test } from "bun:test";
import { post, TOKEN, until } from "../../support";
import { linked } from "./support";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("a broadcast carries the trace of its request over the link, to the run and the rows of the host", async () => {
  await using pair = await linked();
  const body = { actions: [["AC_set_var", { name: "a", value: 7 }]], on: "all" };
  const init = post(body);
  const answer = await fetch(`${pair.desk.server.url}/admin/broadcast`, {
    ...init,
    headers: {
      ...(init.headers as Record<string, string>),
      authorization: `Bearer ${TOKEN}`,
      traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
    },
    tls: { rejectUnauthorized: false },
  });
  expect(linesOf(await answer.text())).toMatchObject([{ status: "ok" }]);
  const runs = (await pair.host.service.runs()).list();
  expect(runs).toMatchObject([{ trace_id: TRACE }]);
  const rows = (await (await pair.host.service.audit())?.list({ limit: 20 })) ?? [];
  expect(rows.some(({ detail }) => detail?.endsWith(`via=link trace=${TRACE}`))).toBe(true);
});

test("a broadcast names a secret, the host has its own, and decides whether the desk may use it", async () => {
  await using pair = await linked();
  await (await pair.host.service.secrets()).set("crm_password", "of-the-host", null);
  const actions = [
    ["AC_set_var", { name: "a", value: "${secret:crm_password}" }],
    ["AC_assert", { name: "a", op: "eq", value: "of-the-host" }],
  ];
  const broadcast = async () => {
    const init = post({ actions, on: "all" });
    const answer = await fetch(`${pair.desk.server.url}/admin/broadcast`, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${TOKEN}` },
      tls: { rejectUnauthorized: false },
    });
    return answer.text();
  };
  expect(await broadcast()).toContain("needs secret:crm_password");
  const { limitDesk } = await import("../../../src/host/join/enter");
  await limitDesk(pair.host.service, ["desk", "secret:crm_*"]);
  await pair.host.service.refresh();
  await until("the right", async () => linesOf(await broadcast())[0]?.status === "ok");
});
