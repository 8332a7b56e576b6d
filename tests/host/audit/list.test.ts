import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isTime, listRows, timeBound } from "../../../src/host/audit/list";
import { TOKEN, testServer } from "../../support";
import { event, testLog, withDatabase } from "./support";

describe("listing", () => {
  test("gives the newest rows first, without their hashes", async () => {
    await using made = await testLog("audit-foreign.db");
    const rows = await made.log.list({ limit: 3 });
    expect(rows.map(({ id }) => id)).toEqual([40, 39, 38]);
    expect(Object.keys(rows[0] ?? {})).toEqual(["id", "ts", "event_type", "host_id", "viewer_id", "detail"]);
  });

  test("narrows by type and host, and pages by before_id", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 10; nth++) {
      await made.log.append(event({ event_type: nth % 2 ? "odd" : "even", host_id: `h${nth % 5}` }));
    }
    const ids = async (query: object) => (await made.log.list({ limit: 200, ...query })).map(({ id }) => id);
    expect(await ids({ event_type: "odd" })).toEqual([10, 8, 6, 4, 2]);
    expect(await ids({ event_type: "odd", host_id: "h1" })).toEqual([2]);
    expect(await ids({ event_type: "odd", limit: 2, before_id: 8 })).toEqual([6, 4]);
    expect(await ids({ host_id: "no such" })).toEqual([]);
  });

  test("reads 500 rows at a time, and others have their turns in between", async () => {
    await using made = await testLog();
    withDatabase(made.path, (db) => {
      const insert = db.query("INSERT INTO events (ts, event_type) VALUES ('2026-04-01T10:00:00Z', ?)");
      db.transaction(() => {
        for (let nth = 0; nth < 2_600; nth++) insert.run(nth % 2 ? "odd" : "even");
      })();
    });
    using db = new Database(made.path);
    const reads: number[] = [];
    const read = async <T>(work: (db: Database) => T) => {
      const found = work(db);
      reads.push(Object(found).found.length);
      return found;
    };
    for (const narrowed of [{}, { since: "2020-01-01" }]) {
      const { rows } = await listRows(read, { limit: 1_200, event_type: "odd", ...narrowed });
      expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 1_200 }, (_, nth) => 2_600 - 2 * nth));
      expect(Math.max(...reads)).toBe(500);
    }
  });

  test("gives the types of the rows that there are, each once", async () => {
    await using made = await testLog();
    expect(await made.log.types()).toEqual([]);
    for (const event_type of ["zebra", "an ant", "zebra", "\u{1f98a}"])
      await made.log.append(event({ event_type }));
    expect(await made.log.types()).toEqual(["an ant", "zebra", "\u{1f98a}"]);
    await made.log.clear("somebody");
    expect(await made.log.types()).toEqual(["audit_cleared"]);
  });

  test("the latest row is the one with the latest time, not the last one", async () => {
    await using made = await testLog();
    expect(await made.log.latest()).toBeNull();
    for (let nth = 0; nth < 3; nth++) await made.log.append(event());
    const times = ["2026-04-27T10:30:00.123456+00:00", "2031-01-01T00:00:00Z", "no time"];
    withDatabase(made.path, (db) => {
      for (const [at, ts] of times.entries())
        db.query("UPDATE events SET ts = ? WHERE id = ?").run(ts, at + 1);
    });
    expect(await made.log.latest()).toMatchObject({ id: 2, ts: "2031-01-01T00:00:00Z" });
  });

  test("narrows by time, whatever form other writers gave theirs", async () => {
    await using made = await testLog();
    withDatabase(made.path, (db) => {
      const times = [
        "2026-04-01T10:00:00+00:00",
        "2026-04-01T10:00:00.500000+00:00",
        "2026-04-01T10:00:01Z",
        "2026-04-02T00:00:00Z",
      ];
      for (const ts of times) db.query("INSERT INTO events (ts, event_type) VALUES (?, 'x')").run(ts);
    });
    const ids = async (query: object) => (await made.log.list({ limit: 200, ...query })).map(({ id }) => id);
    expect(await ids({ since: "2026-04-01T10:00:00Z" })).toEqual([4, 3, 2, 1]);
    expect(await ids({ since: "2026-04-01T10:00:00.5Z" })).toEqual([4, 3, 2]);
    expect(await ids({ until: "2026-04-01T10:00:01Z" })).toEqual([2, 1]);
    expect(await ids({ since: "2026-04-01T12:00:00.500+02:00", until: "2026-04-02" })).toEqual([3, 2]);
    expect(await ids({ since: "2026-04-01T10:00:00.500001Z" })).toEqual([4, 3]);
    expect(await ids({ until: "2026-04-01T10:00:00.500001Z" })).toEqual([2, 1]);
  });

  test("a bound sorts among times as the times do", () => {
    const moment = fc.date({
      min: new Date("1970-01-01"),
      max: new Date("2199-01-01"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moment, moment, (a, b) => {
        const stored = `${a.toISOString().slice(0, -1)}000+00:00`;
        expect(stored >= timeBound(b.toISOString())).toBe(a >= b);
      }),
    );
  });

  test("a time is a date, with or without a time of day and a zone", () => {
    for (const text of ["2026-04-01", "2026-04-01T10:00", "2026-04-01T10:00:00.123456+00:00"]) {
      expect([text, isTime(text)]).toEqual([text, true]);
    }
    for (const text of [
      "",
      "now",
      "2026-13-01",
      "2026-02-30",
      "2026-04-01 10",
      "1711965600",
      "2026-04-01T25:00",
    ]) {
      expect([text, isTime(text)]).toEqual([text, false]);
    }
  });
});

describe("GET /audit/list", () => {
  test("lists what requests left, and itself only afterwards", async () => {
    await using host = await testServer();
    await host.call("/commands");
    const body = (await (await host.call("/audit/list?event_type=rest_api")).json()) as {
      rows: Array<Record<string, unknown>>;
      count: number;
    };
    expect(body.count).toBe(1);
    expect(body.rows[0]).toMatchObject({
      id: 1,
      event_type: "rest_api",
      host_id: "127.0.0.1",
      viewer_id: null,
      detail: "GET /commands -> ok:200",
    });
  });

  test("has at most 20 MiB of rows, and says where older ones are left out", async () => {
    await using host = await testServer();
    const log = await host.service.audit();
    const detail = "x".repeat(900_000);
    for (let nth = 0; nth < 40; nth++) await log?.append(event({ event_type: "large", detail }));
    const page = async (query: string) => {
      const answer = await host.call(`/audit/list?event_type=large&limit=10000${query}`);
      const text = await answer.text();
      expect(text.length).toBeLessThan(20 * 1_048_576 + 1_000);
      const { rows, count, cut } = JSON.parse(text) as {
        rows: Array<{ id: number }>;
        count: number;
        cut?: true;
      };
      expect(count).toBe(rows.length);
      return { ids: rows.map(({ id }) => id), cut };
    };
    const ids: number[] = [];
    let next = await page("");
    expect([next.ids.length, next.cut]).toEqual([23, true]);
    for (; next.cut; next = await page(`&before_id=${ids.at(-1)}`)) ids.push(...next.ids);
    ids.push(...next.ids);
    expect(ids.length).toBe(40);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect((await (await host.call("/audit/list?limit=1")).json()) as object).not.toHaveProperty("cut");
  });

  test("gives a row that is larger than that by itself", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await made.log.append(event({ detail: "x".repeat(20 * 1_048_576) }));
    expect(await made.log.page({ limit: 200 })).toMatchObject({ rows: [{ id: 2 }], isCut: true });
    expect(await made.log.page({ limit: 200, before_id: 2 })).toMatchObject({
      rows: [{ id: 1 }],
      isCut: false,
    });
  });

  test("refuses a limit out of 1 to 10,000 and a time that is none with 400", async () => {
    await using host = await testServer();
    for (const query of ["limit=0", "limit=10001", "limit=x", "since=someday", "before_id=a", "nope=1"]) {
      expect([query, (await host.call(`/audit/list?${query}`)).status]).toEqual([query, 400]);
    }
    for (const query of ["limit=1", "limit=10000", "since=2026-04-27T10:30:00+00:00", ""]) {
      expect([query, (await host.call(`/audit/list?${query}`)).status]).toEqual([query, 200]);
    }
  });

  test("is unavailable where no log is kept", async () => {
    await using host = await testServer({ audit: false, service: { audit: false } });
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await fetch(`${host.server.url}/audit/list`, { headers })).status).toBe(503);
  });
});
