/** What a desk is at its NATS servers, as `nats.json` has it: what is wrong with one server takes no other with it. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../../src/lib/errors";
import { deskPartFaults, readDeskPart, readServer, readServers } from "../../../src/wire/nats/desk-part";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { temporaryFolder } from "../../support";

function partOf(more: object = {}) {
  const server = { urls: ["tls://nats.example:4222"] };
  return { server, account: newNKey("A").id, desk: { name: "desk", ...newNKey("U"), jwt: "x" }, ...more };
}

/** A file with that content. */
function fileWith(content: object) {
  const folder = temporaryFolder();
  const file = join(folder.path, "nats.json");
  writeFileSync(file, JSON.stringify({ svc_nats: 1, ...content }));
  return { file, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const cannot = (what: string) =>
  `${what} in nats.json cannot be used: mend it or restore the file from a backup`;

const bad = { server: { urls: ["tls://nats.example:4222"], pin: "secret-pin" } };

test.each([
  ["a region", { ...partOf(), regions: { eu: partOf(bad), us: partOf() } }, "eu", "regions.eu.server.pin"],
  ["a region that is none", { ...partOf(), regions: { eu: "x", us: partOf() } }, "eu", "regions.eu"],
  ["a name", { ...partOf(), regions: { "E U": partOf(), us: partOf() } }, "E U", "regions.E U"],
  ["the first server", { ...partOf(bad), regions: { us: partOf() } }, "", "server.pin"],
])(
  "%s that cannot be used is named, quotes nothing, and leaves the others on",
  (_what, content, at, named) => {
    using made = fileWith(content);
    const servers = readServers(made.file);
    const faults = [...servers].filter(([, part]) => part instanceof Failure);
    expect(faults.map(([region, fault]) => [region, Object(fault).message])).toEqual([[at, cannot(named)]]);
    expect(readServer(made.file, "us")?.server.urls).toEqual(["tls://nats.example:4222"]);
    expect(() => readServer(made.file, at)).toThrow(cannot(named));
    // A standby takes it, as this desk runs with it.
    expect(deskPartFaults({ svc_nats: 1, ...content })).toEqual([]);
    // Whoever changes the file would lose that part.
    expect(() => readDeskPart(made.file)).toThrow(cannot(named));
  },
);

const [desk, urls] = [newNKey("U"), ["tls://nats.example:4222"]];
const nothing = { id: "", urls: [] };

test.each([
  ["nothing", "x", nothing],
  ["nothing that is public", { desk: { id: "x", seed: "x" }, server: { urls: ["x"] } }, nothing],
  [
    "its key and its URLs",
    { desk: { id: desk.id }, server: { urls: [...urls, 1, "ftp://x"] } },
    { id: desk.id, urls },
  ],
  ["the key of its seed", { desk: { id: "x", seed: desk.seed }, server: null }, { id: desk.id, urls: [] }],
])("of a region that cannot be used, %s can be read", (_what, eu, about) => {
  using made = fileWith({ ...partOf(), regions: { eu } });
  expect(readServers(made.file).get("eu")).toMatchObject({ about });
});

test("a file that is not JSON is said to be, with the line and nothing of it", () => {
  using made = fileWith({});
  writeFileSync(made.file, '{\n  "svc_nats": 1\n  "account": secret\n}');
  for (const read of [readServers, readDeskPart]) {
    expect(() => read(made.file)).toThrow(
      "nats.json is not JSON (line 3): mend it or restore it from a backup; `svc config set-aside nats.json` begins anew without it",
    );
  }
});

test.each([
  ["one server", partOf(bad)],
  ["each server", { ...partOf(bad), regions: { eu: partOf(bad) } }],
  ["a region without a name", { ...partOf(), regions: { "": partOf() } }],
])("a file of which %s cannot be used is none that svc wrote", (_what, content) => {
  using made = fileWith(content);
  for (const read of [readServers, readDeskPart])
    expect(() => read(made.file)).toThrow("nats.json was not written by `svc nats`");
  expect(deskPartFaults({ svc_nats: 1, ...content })).toEqual(["it was not written by `svc nats`"]);
});
