/** A link: a host dials its desk, and answers requests over the connection. */
import { describe, expect, test } from "bun:test";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { showDesk } from "../../src/join/operations/host";
import { joinDesk, limits, linkServer, untilEvent } from "./support";

const textOf = (body: Uint8Array) => Buffer.from(body).toString();

/** A desk and a host that is linked to it. */
async function linked(options: Parameters<typeof linkServer>[1] = {}) {
  const desk = await linkServer(true);
  const host = await linkServer(false, options);
  const host_id = await joinDesk(desk, host);
  await desk.service.runJobs();
  await host.service.runJobs();
  const up = await untilEvent(desk, "host.up");
  const hub = desk.service.hub();
  if (!hub) throw new Error("the desk has no hub");
  return {
    ...{ desk, host, host_id, hub, up },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

describe("a host that has joined", () => {
  test("dials, is up, and answers as it does over HTTP", async () => {
    await using all = await linked();
    const { hub, host_id, up, host } = all;
    const [link] = hub.links();
    expect(link).toMatchObject({ host_id, linked: true, address: "127.0.0.1", twin: null });
    expect(up).toMatchObject({ label: link?.label });
    const answer = await hub.ask(host_id, { method: "GET", path: "/desk" }, limits());
    const shown = await callOperation(host.service, showDesk, {}, localCaller(host.service, "cli"));
    expect(answer.status).toBe(200);
    expect(JSON.parse(textOf(answer.body))).toEqual(shown);
    // It has the request only once it knows that it is linked.
    expect(await host.service.hostLink()).toMatchObject({ state: "linked", host_id, problem: null });
  });
});
