/** Hosts that are reached over their links, in the address book. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { type Host, parseHost } from "../../../src/desk/fleet/host";
import { exportHosts, importHosts } from "../../../src/desk/fleet/transfer";
import { post } from "../../support";
import { entry, GONE, ID, linkedDesk } from "../link/fake-hub";
import { host } from "./support";

const KEY = `spki:${"A".repeat(43)}`;

describe("link: and the id of a host", () => {
  test("is the address of one that has joined with that id, which has no token and no pin", () => {
    expect(parseHost(entry("lab", ID))).toEqual({ entry: entry("lab", ID) });
    const member = { member: entry("", GONE).member };
    for (const [more, fault] of [
      [{ token: "a-token" }, "token, ca, pin: expected with an http or https address only"],
      [{ pin: KEY }, "token, ca, pin: expected with an http or https address only"],
      [{ member: undefined }, "base_url: expected the id of this very host after link:"],
      [member, "base_url: expected the id of this very host after link:"],
    ] as const) {
      expect(parseHost({ ...entry("lab", ID), ...more })).toEqual({
        fault: expect.stringContaining(fault),
      });
    }
  });

  test.each([
    `link://${ID}`,
    `link:${ID}/`,
    `link:${ID}?a`,
    `link:${ID.toUpperCase()}`,
    `LINK:${ID}`,
    `link:${ID.slice(1)}`,
    `link:${ID}0`,
    ` link:${ID}`,
    `link:${ID}\n`,
    "link:",
    `nats:${ID}`,
    `file:///${ID}`,
  ])("is the only further form of an address: %j is none", (base_url) => {
    expect(parseHost({ ...entry("lab", ID), base_url })).toEqual({
      fault: expect.stringContaining("base_url: expected an http or https address"),
    });
  });

  test("is the same after export and import, where that is known which has joined", async () => {
    const linked = entry("lab", ID, "floor") as Host;
    for (const format of ["csv", "json"] as const) {
      const text = await exportHosts([linked, host("b")], format, true);
      expect(await importHosts(text, [linked], format)).toEqual([linked, host("b")]);
    }
    const csv = await exportHosts([linked], "csv", true);
    await expect(importHosts(csv, [])).rejects.toThrow("line 2: base_url: expected the id of this very host");
  });
});

/** A desk, and what an operation on an entry of its address book answers. */
async function desk() {
  const made = await linkedDesk();
  return {
    ...made,
    async ask(path: string, body: object) {
      const answer = await made.desk.call(`/admin/hosts/${path}`, post(body));
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    entry: async () => (await made.desk.service.addressBook()).host("lab"),
  };
}

describe("an entry", () => {
  test("is listed as one whose identity is proven", async () => {
    await using made = await desk();
    const [listed] = (await (await made.desk.call("/admin/hosts")).json()) as unknown[];
    expect(listed).toEqual({
      ...{ label: "lab", base_url: `link:${ID}`, tags: ["floor"] },
      ...{ trust: "identity", pin: null, next_pin: null, allows: null },
    });
  });

  test("of a host that has joined is changed to its link and back, and keeps no token and no pin", async () => {
    await using made = await desk();
    const direct = { base_url: "https://127.0.0.1:1", token: "a-token", pin: KEY };
    expect((await made.ask("set", { label: "lab", ...direct })).status).toBe(200);
    const { member, tags } = entry("lab", ID, "floor");
    expect(await made.entry()).toEqual({ label: "lab", tags, member, ...direct });
    expect((await made.ask("set", { label: "lab", base_url: `link:${ID}` })).status).toBe(200);
    expect(await made.entry()).toEqual(entry("lab", ID, "floor") as Host);
    expect(await made.ask("set", { label: "lab", base_url: direct.base_url })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("token: expected a token") },
    });
    expect(await made.ask("set", { label: "lab", base_url: `link:${GONE}` })).toMatchObject({
      status: 400,
      body: {
        error: expect.stringContaining("`svc admin set LABEL --url link:…` changes how it is reached"),
      },
    });
    expect(await made.ask("set", { label: "lab", trust_first: true })).toMatchObject({
      body: { error: "trust_first: expected with an https address only" },
    });
    expect(await made.entry()).toEqual(entry("lab", ID, "floor") as Host);
  });

  test("is not added by hand: only a host that has joined dials", async () => {
    await using made = await desk();
    const added = { label: "new", base_url: `link:${ID}`, token: "a-token" };
    expect(await made.ask("add", added)).toMatchObject({ status: 400 });
  });

  test("has no token to rotate, and no certificate to trust", async () => {
    await using made = await desk();
    expect(await made.ask("rotate", { label: "lab" })).toEqual({
      status: 409,
      body: { error: "lab is reached over its link, which needs no token" },
    });
    const { stdout, stderr } = await made.svc("tls", "cert", "--on", "lab");
    expect([stdout, stderr]).toEqual([
      "",
      expect.stringContaining("reached over their links, which need no certificate: 1"),
    ]);
  });

  test("is removed once its host was asked to forget this desk", async () => {
    await using made = await desk();
    expect((await made.ask("remove", { label: "gone" })).body).toEqual({
      ...{ removed: true, revoked: false, problem: "not linked (last seen never)" },
      hosts: [{ label: "gone", revoked: false, problem: "not linked (last seen never)" }],
    });
    // The host has joined nobody, and says so.
    expect((await made.ask("remove", { label: "lab" })).body).toMatchObject({
      removed: true,
      problem: expect.stringContaining("this is not the token that this host made for its desk"),
    });
    expect((await made.desk.service.addressBook()).hosts()).toEqual([]);
  });

  test("makes no warning of the diagnosis", async () => {
    await using made = await desk();
    const answer = await made.desk.call("/diagnose?only=address_book");
    expect(await answer.json()).toMatchObject({ checks: [{ ok: true }] });
  });
});

describe("Prometheus", () => {
  const METRICS = "text/plain; version=0.0.4; charset=utf-8";

  test("finds linked hosts at the desk, by the address with which it asks", async () => {
    await using made = await linkedDesk();
    const slash = { ...entry("a/b", GONE), label: "a/b" };
    writeFileSync(
      made.files.formerAdminHosts,
      JSON.stringify({ hosts: [entry("lab 1", ID, "floor"), slash] }),
    );
    const targets = await (await made.desk.call("/admin/targets")).json();
    const { host: where } = new URL(made.desk.server.url);
    expect(targets).toEqual([
      {
        targets: [where],
        labels: { __scheme__: "http", __metrics_path__: "/metrics", svc_host: hostname(), svc_desk: "true" },
      },
      {
        targets: [where],
        labels: {
          __scheme__: "http",
          __metrics_path__: "/admin/hosts/lab 1/metrics",
          svc_host: "lab 1",
          svc_tag_floor: "true",
        },
      },
      {
        targets: [where],
        // A slash would end the name there.
        labels: { __scheme__: "http", __metrics_path__: `/admin/hosts/${GONE}/metrics`, svc_host: "a/b" },
      },
    ]);
    const proxied = await made.desk.call("/admin/targets", { headers: { "x-forwarded-proto": "https" } });
    expect(await proxied.json()).toMatchObject([{}, { labels: { __scheme__: "https" } }, {}]);
  });

  test("svc admin targets leaves them out, and says so, where no server runs", async () => {
    await using made = await linkedDesk();
    const own = await made.svc("admin", "targets");
    expect(JSON.parse(own.stdout)).toMatchObject([
      { labels: { svc_desk: "true" } },
      { targets: [new URL(made.desk.server.url).host] },
      {},
    ]);
    await (await made.desk.service.rest()).stop();
    const { stdout, stderr } = await made.svc("admin", "targets");
    expect([JSON.parse(stdout), stderr]).toEqual([
      [],
      expect.stringContaining("2 hosts that are reached over their links are left out: no server runs here"),
    ]);
  });

  test("gets their metrics from the desk", async () => {
    await using made = await linkedDesk();
    for (const name of ["lab", ID]) {
      const answer = await made.desk.call(`/admin/hosts/${name}/metrics`);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, METRICS]);
      expect(await answer.text()).toContain("service_build_info");
    }
    expect(made.rows()).toEqual([]);
    for (const [name, status, error] of [
      ["gone", 503, "gone: not linked (last seen never)"],
      ["none", 404, "no host is labelled none"],
    ] as const) {
      const answer = await made.desk.call(`/admin/hosts/${name}/metrics`);
      expect([answer.status, await answer.json()]).toEqual([status, { error }]);
    }
    expect(made.rows()).toEqual([
      "GET /admin/hosts/gone/metrics -> failed:503",
      "GET /admin/hosts/none/metrics -> failed:404",
    ]);
  });

  test("leaves a row on the desk for what its token may not ask, and what no host has answered", async () => {
    await using made = await linkedDesk({ rate_limit: 1, rate_burst: 2 });
    const tokenOf = async (scope: string) =>
      (await made.svc("token", "add", scope, "--scope", scope)).stdout.trim();
    const [reader, scraper] = [await tokenOf("read"), await tokenOf("metrics")];
    const before = made.rows().length;
    const ask = async (token: string, path: string, init: RequestInit = {}) => {
      const headers = { ...init.headers, authorization: `Bearer ${token}` };
      return (await fetch(`${made.desk.server.url}${path}`, { ...init, headers })).status;
    };
    const metrics = "/admin/hosts/lab/metrics";
    const answers = [await ask(reader, metrics), await ask(reader, metrics), await ask(reader, metrics)];
    expect(answers).toEqual([403, 403, 429]);
    expect(await ask(scraper, "/admin/hosts/lab/metrics", { method: "DELETE" })).toBe(405);
    const found: number[] = [];
    for (const name of ["n1", "n2", "lab"]) found.push(await ask(scraper, `/admin/hosts/${name}/metrics`));
    // What is not handed on is limited as anything else is, and uses up nothing of what is.
    expect(found).toEqual([404, 429, 200]);
    expect(made.rows().slice(before)).toEqual([
      "GET /admin/hosts/lab/metrics -> failed:403 token=read",
      "GET /admin/hosts/lab/metrics -> failed:403 token=read",
      "GET /admin/hosts/lab/metrics -> rate_limited token=read",
      "DELETE /admin/hosts/lab/metrics -> failed:405 token=metrics",
      "GET /admin/hosts/n1/metrics -> failed:404 token=metrics",
      "GET /admin/hosts/n2/metrics -> rate_limited token=metrics",
    ]);
  });

  test("is limited for each host behind the desk, and never by another", async () => {
    await using made = await linkedDesk({ rate_limit: 1, rate_burst: 2 });
    const token = (await made.svc("token", "add", "scraper", "--scope", "metrics")).stdout.trim();
    const scrape = async (name: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${made.desk.server.url}/admin/hosts/${name}/metrics`, { headers })).status;
    };
    const found: number[] = [];
    for (const name of ["lab", "%20lab", ID, "l%61b", "gone"]) found.push(await scrape(name));
    expect(found).toEqual([200, 200, 429, 429, 503]);
  });
});
