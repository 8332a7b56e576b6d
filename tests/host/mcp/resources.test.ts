/** What results of tools link to, and who reads it: pictures at full size, and traces. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { localCaller } from "../../../src/core/caller";
import type { Grant } from "../../../src/core/rights";
import { encodePng } from "../../../src/host/desktop/png";
import { createBudget } from "../../../src/host/mcp/budget";
import { createCalls } from "../../../src/host/mcp/calls";
import { createProposals } from "../../../src/host/mcp/proposals";
import { createPictures } from "../../../src/host/mcp/resources";
import { chosen } from "../../../src/host/mcp/toolsets";
import { silentLog } from "../../../src/lib/log";
import { operations } from "../../../src/operations";
import { testServer } from "../../support";
import { connectAgent, dataIn, ERAS, makeToken, rowsOf } from "./support";

setDefaultTimeout(120_000);

/** A screenshot of one color. */
function shot(width: number, height: number, shade = 9) {
  const pixels = new Uint8Array(width * height * 4).fill(shade);
  const data = Buffer.from(encodePng({ width, height, redAt: 0, pixels })).toString("base64");
  return { format: "png", encoding: "base64", region: [0, 0, width, height], data };
}

const BOB: Grant = { name: "bob", scopes: ["screen"] };
const OFFERED = chosen(operations, { write: false });
const caller = localCaller({ audit: async () => null }, "api");

/** Agents of a host whose screen is `answer`. @param now the clock. */
function agents(answer: () => unknown, now?: () => number) {
  const rows: string[] = [];
  const calls = createCalls({
    ...{ service: {}, operations, hosts: null, ask: null, log: silentLog, perform: answer },
    ...{ proposals: createProposals(), budget: createBudget("/dev/null/unused") },
    pictures: createPictures(now),
  });
  const asking = (grant: Grant) => ({
    ...{ caller: { ...caller, grant }, agent: "tester", signal: caller.signal },
    rows: {
      announce: async () => {},
      ended: async (outcome: string, subject: string) => void rows.push(`${outcome} ${subject}`),
    },
  });
  return {
    rows,
    async links(tool: string, grant = BOB) {
      const { content } = await calls.call(OFFERED, tool, {}, asking(grant));
      return content.flatMap((one) => (one.type === "resource_link" ? [one.uri] : []));
    },
    read: (uri: string, grant = BOB, offered = OFFERED) => calls.readResource(offered, uri, asking(grant)),
    list: (grant = BOB) => calls.resources(OFFERED, grant).resources.map(({ uri }) => uri),
  };
}

describe("a picture that is not shown as it was taken", () => {
  test("has a link, by which the same token reads it whole, on record", async () => {
    const taken = shot(2_000, 50);
    const { links, read, list, rows } = agents(() => taken);
    const [uri = "", ...others] = await links("desktop_screenshot");
    expect(others).toEqual([]);
    expect(list()).toEqual([uri]);
    expect(await read(uri)).toEqual({
      contents: [{ uri, mimeType: "image/png", blob: taken.data }],
      _meta: { "svc/untrusted": true },
    });
    expect(rows).toContain(`ok:200 mcp.resource ${uri}`);
  });

  test("is read by no other token, by none of that name that came later, and not without the tool that took it", async () => {
    const { links, read, list, rows } = agents(() => shot(2_000, 50));
    const [uri = ""] = await links("desktop_screenshot");
    const later = { ...BOB, since: 1 };
    for (const grant of [{ ...BOB, name: "eve" }, later, { ...BOB, scopes: ["read" as const] }]) {
      await expect(read(uri, grant)).rejects.toThrow("there is no resource");
      expect(list(grant)).toEqual([]);
    }
    const without = OFFERED.filter(({ name }) => name !== "desktop.screenshot");
    await expect(read(uri, BOB, without)).rejects.toThrow("there is no resource");
    expect(rows).toContain(`failed:404 mcp.resource ${uri}`);
  });

  test("is there for ten minutes, and only the last eight of a token", async () => {
    let at = 0;
    const { links, read, list } = agents(
      () => shot(2_000, 50),
      () => at,
    );
    const all: string[] = [];
    for (let nth = 0; nth < 9; nth++) all.push(...(await links("desktop_screenshot")));
    expect(list()).toEqual(all.slice(1).toReversed());
    at = 599_999;
    expect((await read(all[8] ?? "")).contents).toHaveLength(1);
    at = 600_000;
    await expect(read(all[8] ?? "")).rejects.toThrow("it is there no longer");
    expect(list()).toEqual([]);
  });

  test("has none where it is shown as it was taken", async () => {
    const { links } = agents(() => shot(200, 100));
    expect(await links("desktop_screenshot")).toEqual([]);
  });

  test("has one where an answer shows newer ones in its place", async () => {
    const { links, read } = agents(() => [1, 2, 3, 4, 5].map((shade) => shot(8, 8, shade)));
    const [uri = "", ...others] = await links("desktop_windows");
    expect(others).toEqual([]);
    expect((await read(uri)).contents).toMatchObject([{ blob: shot(8, 8, 1).data }]);
  });
});

describe.each(ERAS)("the trace of a run, for an agent of %s:", (era) => {
  test("its result links to it, whose steps are data of the host", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const token = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    await using agent = await connectAgent(host.server.url, token, { query: "?toolsets=jobs", era });
    const { digest } = await agent.propose("execute_actions", {
      actions: [["AC_log", ["hello"]]],
      trace: true,
    });
    const { content } = await agent.call("confirm", { digest });
    const [uri = ""] = content.flatMap((one) => (one.type === "resource_link" ? [one.uri] : []));
    expect(uri).toMatch(/^svc:\/\/traces\/[0-9a-f-]{36}$/);
    const listed = await agent.call("traces_list");
    expect(listed.content).toContainEqual(expect.objectContaining({ type: "resource_link", uri }));
    const { resourceTemplates } = await agent.client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["svc://traces/{run_id}"]);
    const { contents } = await agent.client.readResource({ uri });
    const [only] = contents;
    expect(dataIn(`${only && "text" in only ? only.text : ""}`)).toMatchObject({
      steps: [{ command: "AC_log", ok: true }],
    });
    expect(await rowsOf(host.call)).toContain(
      `POST /mcp -> ok:200 mcp.resource ${uri} token=bob agent=tester via=mcp`,
    );
  });

  test("who may not see the screen does not read it, nor who lists no traces", async () => {
    await using host = await testServer({ service: { mcp_write: true } });
    const bob = await makeToken(host.configDir, "bob", ["read", "screen", "operate"]);
    await using agent = await connectAgent(host.server.url, bob, { query: "?toolsets=jobs", era });
    const { digest } = await agent.propose("execute_actions", { actions: [["AC_runs_list"]], trace: true });
    const { content } = await agent.call("confirm", { digest });
    const [uri = ""] = content.flatMap((one) => (one.type === "resource_link" ? [one.uri] : []));
    for (const scope of [["read"], ["screen"]]) {
      const token = await makeToken(host.configDir, `has-${scope}`, scope);
      await using other = await connectAgent(host.server.url, token, { query: "?toolsets=jobs", era });
      await expect(other.client.readResource({ uri })).rejects.toThrow();
    }
    await expect(agent.client.readResource({ uri: "svc://traces/nothing" })).rejects.toThrow(
      "there is no resource",
    );
    await expect(agent.client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow(
      "there is no resource",
    );
  });
});
