/** Passkeys in the compiled binary, which has the library that checks them in a part of its own. */
import { expect, test } from "bun:test";
import { askServer } from "../../src/host/approvals/elsewhere";
import { BINARY, post, serveBinary, TOKEN, until } from "../support";
import { holder } from "../trust/passkeys/support";

test("a passkey is registered, allows what waits, and svc approvals verify shows it; a lost one is removed on the host", async () => {
  await using host = await serveBinary(["--passkey-for", "approvals"]);
  const svc = async (...args: string[]) => {
    const child = Bun.spawn([BINARY, ...args, "--json", "--config-dir", host.configDir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return { answer: await child.stdout.json(), code: await child.exited };
  };
  const owner = await holder(host.url, TOKEN);
  const caller = { grant: { name: "agent", scopes: ["admin" as const] }, client: null };
  const { signal } = new AbortController();
  const asked = askServer(host.configDir, { what: "look", detail: "sees all", caller, signal });
  const id = await until("the question", async () => {
    const listed = (await (await host.call("/approvals")).json()) as { approvals: Array<{ id: string }> };
    return listed.approvals[0]?.id;
  });
  expect((await owner.call("/approvals/allow", post({ id }))).status).toBe(403);
  expect((await owner.signed("/approvals/allow", { id })).status).toBe(200);
  expect(await asked).toBe("allowed");
  expect(await svc("approvals", "verify", id)).toMatchObject({
    ...{ code: 0, answer: { ok: true, credential: owner.key.id, holder: null } },
  });
  expect(await svc("passkeys", "remove", owner.key.id)).toMatchObject({ code: 0, answer: { label: "key" } });
  expect(await svc("passkeys", "list")).toMatchObject({ code: 0, answer: { passkeys: [] } });
}, 60_000);
