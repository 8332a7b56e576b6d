/** `svc fleet`, as a person calls it: what it prints, and its exit codes. */
import { expect, test } from "bun:test";
import { host } from "../desk/fleet/support";
import { testServer } from "../support";
import { deskWith } from "./fleet-desk";

const LAB = `name: lab
scripts:
  rest: rest.json
jobs:
  rest: {script: rest, interval_seconds: 1h}
`;

test("a file is compared, applied, and then nothing differs: 1, 0, 0", async () => {
  await using there = await testServer();
  using desk = await deskWith([host("lab-01", there.server.url, "lab")]);
  desk.write("rest.json", '[["AC_sleep", {"seconds": 0}]]');
  desk.write("lab.yaml", LAB);
  const before = await desk.svc("fleet", "diff", "lab.yaml", "--on", "tag:lab");
  expect(before).toMatchObject({ code: 1, stderr: "" });
  expect(before.stdout).toMatch(
    /^lab-01:\n {2}\+ script rest: [0-9a-f]{12}\n {2}\+ job rest\n\n1 host: 1 drift\n$/,
  );
  const dry = await desk.svc("fleet", "apply", "lab.yaml", "--on", "tag:lab", "--dry-run");
  expect(dry.code).toBe(0);
  expect((await there.service.storedScripts()).list()).toEqual([]);
  const applied = await desk.svc("fleet", "apply", "lab.yaml", "--on", "tag:lab");
  expect(applied.stdout).toContain("done; 1 host: 1 ok");
  expect(applied.code).toBe(0);
  expect(await desk.svc("fleet", "diff", "lab.yaml", "--on", "tag:lab")).toMatchObject({
    stdout: "1 host: 1 same\n",
    code: 0,
  });
  expect((await desk.svc("fleet", "apply", "lab.yaml", "--on", "tag:lab")).stdout).toEndWith(
    "Nothing to do.\n",
  );
  expect((await desk.svc("fleet", "list")).stdout).toMatch(/^STATE .*\nlab +tag:lab /);
});

test("after a state was forgotten, applying it again has the desk watch its hosts, though nothing is to be changed", async () => {
  await using there = await testServer();
  using desk = await deskWith([host("lab-01", there.server.url, "lab")]);
  desk.write("lab.json", '{"name": "lab", "settings": {"diagnose.skip": ["mouse"]}}');
  const apply = () => desk.svc("fleet", "apply", "lab.json", "--on", "tag:lab");
  expect((await apply()).code).toBe(0);
  await desk.svc("fleet", "forget", "lab");
  const again = await apply();
  expect(again.stdout).toContain("There is nothing to change: with a plan, this desk notes");
  expect(again.stdout).toContain("done; 1 host: 1 ok");
  expect((await desk.svc("fleet", "list")).stdout).toMatch(/\nlab +tag:lab /);
  expect((await apply()).stdout).toEndWith("Nothing to do.\n");
}, 60_000);

test("a host that gives no answer, and a file that cannot be used, are neither the same nor drift: 2", async () => {
  using desk = await deskWith([host("dead", undefined, "lab")]);
  desk.write("lab.yaml", "name: lab\nsecrets: [a]\n");
  desk.write("bad.yaml", "name: lab\njobs: 3\n");
  const dead = await desk.svc("fleet", "diff", "lab.yaml", "--on", "tag:lab");
  expect(dead.code).toBe(2);
  expect(dead.stdout).toContain("dead: unreachable: ");
  const bad = await desk.svc("fleet", "diff", "bad.yaml", "--on", "tag:lab");
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/bad\.yaml:2:7: jobs: expected an object/);
  const json = await desk.svc("fleet", "diff", "lab.yaml", "--on", "tag:lab", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    name: "lab",
    hosts: [{ label: "dead", state: "unreachable" }],
  });
});

test("a plan alone is made with --plan-only, and prints what applies it", async () => {
  await using there = await testServer();
  using desk = await deskWith([host("lab-01", there.server.url, "lab")]);
  desk.write("lab.json", '{"name": "lab", "settings": {"diagnose.skip": ["mouse"]}}');
  const made = await desk.svc("fleet", "apply", "lab.json", "--on", "lab-01", "--plan-only");
  const command = /^ {2}svc (plan apply .*)$/m.exec(made.stdout)?.[1] ?? "";
  expect((await there.service.settings()).get("diagnose.skip")).toEqual([]);
  const words = command.split(" ").slice(0, 5);
  expect((await desk.svc(...words)).code).toBe(0);
  expect((await there.service.settings()).get("diagnose.skip")).toEqual(["mouse"]);
});
