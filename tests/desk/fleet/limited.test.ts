/** Whoever may act on some hosts of the address book sees no other, in nothing that the desk shows of its state. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { isReadOnly } from "../../../src/core/operation";
import { type Grant, LOOKS, OWNER } from "../../../src/core/rights";
import { hostDown } from "../../../src/desk/fleet/events";
import { listLinks } from "../../../src/desk/link/operations";
import { listEvents, type PollAnswer } from "../../../src/events/operations";
import { diagnosisChanged } from "../../../src/host/diagnostics/events";
import { diagnose } from "../../../src/host/diagnostics/operations";
import { operations } from "../../../src/operations";
import { testService } from "../../support";
import { linked } from "../link/support";
import { host } from "./support";

const OWN = "lab-01";
const OTHER = "office-of-others";
const LIMITED: Grant = { name: "oidc:ann~0123456789/aaaaaaaa", scopes: ["admin"], on: OWN };

/** All that answers without an argument, reads, and may be asked by who is for some hosts; checks are asked one by one below. */
const looks = operations.filter(
  (one) =>
    LOOKS.includes(one.scope) &&
    one.http?.method === "GET" &&
    one.http.public === undefined &&
    one.name !== "diagnostics.run" &&
    !one.name.startsWith("desktop.") &&
    isReadOnly(one) &&
    v.safeParse(one.input, {}).success,
);

test("no state of the desk names a host of others", async () => {
  await using made = await linked();
  const { service } = made.desk;
  const book = await service.addressBook();
  await book.rename(`${made.up.label}`, OTHER);
  await book.add(host(OWN, "https://lab-01.example"));
  const caller = localCaller(service, "api", { grant: LIMITED });
  const owner = localCaller(service, "api", { grant: OWNER });
  expect(JSON.stringify(await callOperation(service, listLinks, {}, owner))).toContain(made.host_id);
  for (const { label } of book.hosts())
    service.events().publish(hostDown, { label, base_url: "https://any.example", error: "gone" });
  expect(looks.length).toBeGreaterThan(15);
  for (const one of looks) {
    const input = one.name === "events.list" ? { after: "oldest", wait: 0 } : {};
    const asked = async () => callOperation(service, one, v.parse(one.input, input), caller);
    const answer: unknown = await asked().catch((error: unknown) => String(error));
    const shown = answer instanceof Response ? await answer.text() : JSON.stringify(answer);
    expect([one.name, shown.includes(OTHER), shown.includes(made.host_id)]).toEqual([one.name, false, false]);
  }
}, 60_000);

/** What a caller gets of all events so far. */
async function eventsFor(service: ReturnType<typeof testService>["service"], grant: Grant) {
  const input = v.parse(listEvents.input, { after: "oldest", wait: 0 });
  const caller = localCaller(service, "api", { grant });
  return (await callOperation(service, listEvents, input, caller)) as PollAnswer;
}

test("events of hosts go to who is for them, also of those that come to a selection later", async () => {
  await using made = testService();
  const { service } = made;
  const book = await service.addressBook();
  await book.addAll([host(OWN, "https://lab-01.example", "lab"), host(OTHER)], false);
  const grant = { ...LIMITED, on: "tag:lab" };
  const downs = async () =>
    (await eventsFor(service, grant)).events.flatMap(({ type, data }) =>
      type === "host.down" ? [data.label] : [],
    );
  for (const label of [OWN, OTHER])
    service.events().publish(hostDown, { label, base_url: "https://any.example", error: "gone" });
  expect(await downs()).toEqual([OWN]);
  await book.set(OTHER, () => ({ tags: ["lab"] }));
  expect(await downs()).toEqual([OWN, OTHER]);
});

test("checks that name hosts are not for who is for some of them, nor is what changed in them", async () => {
  await using made = testService();
  const { service } = made;
  const caller = localCaller(service, "api", { grant: LIMITED });
  const run = (only: string[]) => callOperation(service, diagnose, v.parse(diagnose.input, { only }), caller);
  const { checks, skipped } = await run(["clock", "witness", "address_book"]);
  expect([checks.map(({ name }) => name), skipped]).toEqual([["clock"], ["witness", "address_book"]]);
  await expect(run(["witness"])).rejects.toThrow("witness names other hosts");
  for (const name of ["witness", "clock"])
    service.events().publish(diagnosisChanged, { name, ok: true, severity: "warn", detail: "office-17" });
  const { events } = await eventsFor(service, LIMITED);
  expect(events.flatMap(({ type, data }) => (type === "diagnosis.changed" ? [data.name] : []))).toEqual([
    "clock",
  ]);
});
