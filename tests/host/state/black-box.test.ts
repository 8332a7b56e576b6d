/** The black box of a host in a state: when it is paused, when a pause ends, and what is left to a person. */
import { expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rowsOf } from "../audit/support";
import { stateHost } from "./support";

const KEEPS = { black_box: 3_600 };
const ON = { name: "lab", black_box: true };
const OFF = { name: "lab", black_box: false };

/** What differs of the black box, in a few words. */
const found = async (host: ReturnType<typeof stateHost>, state: object) =>
  (await host.compare(state)).differences.map((one) => [one.kind, one.state, one.by, one.found, one.wanted]);

test("is paused by a state that wants it off, and goes on by one that wants it on", async () => {
  await using host = stateHost(KEEPS);
  const box = await host.service.blackBox();
  expect(await found(host, ON)).toEqual([]);
  expect(await found(host, OFF)).toEqual([["black_box", "differs", "apply", "on", "off"]]);
  const { changed, left } = await host.apply(OFF);
  expect([changed, left]).toMatchObject([[{ kind: "black_box", change: "changed", found: "on" }], []]);
  expect([box.isPaused, await found(host, OFF)]).toEqual([true, []]);
  expect(await host.drift(OFF)).toMatchObject({ drift: false });
  expect(box.paused).toEqual({ token: null, state: "lab" });

  expect(await found(host, ON)).toEqual([["black_box", "differs", "apply", "paused", "on"]]);
  await host.apply(ON);
  expect([box.isPaused, await found(host, ON)]).toEqual([false, []]);
});

test("is set once, and on record: a state that finds it so leaves it alone", async () => {
  await using host = stateHost(KEEPS);
  await host.apply(OFF);
  await host.apply(OFF);
  const bus = host.service.events();
  const types = Array.from({ length: bus.newest }, (_, nth) => bus.at(nth + 1)?.type.name);
  expect(types.filter((type) => type === "black_box.paused")).toHaveLength(1);
  const rows = rowsOf(host.files.auditLog).flatMap(({ detail }) =>
    detail?.includes("state.apply name=lab") ? [detail] : [],
  );
  expect(rows).toEqual([
    expect.stringMatching(/ ~ black box \(on\)$/),
    expect.stringMatching(/changes nothing$/),
  ]);
});

test("stays paused where a person has paused it, and is named: also where a state had done so before", async () => {
  await using host = stateHost(KEEPS);
  const box = await host.service.blackBox();
  await box.pause("ann");
  expect(await found(host, ON)).toEqual([["black_box", "differs", "hand", "paused", "on"]]);
  expect(await host.apply(ON)).toMatchObject({ changed: [], left: [{ kind: "black_box", by: "hand" }] });
  // A state that wants it off does not take it over.
  await host.apply(OFF);
  await host.apply(ON);
  expect(box.paused).toEqual({ token: "ann" });

  box.resume();
  await host.apply(OFF);
  await box.pause("ann");
  await host.apply(ON);
  expect(box.paused).toEqual({ token: "ann" });
});

test("is not done with as long as its pause cannot be written down: the next time, that is tried again", async () => {
  await using host = stateHost(KEEPS);
  const box = await host.service.blackBox();
  // As with a full disk: nothing can take the place of the file, also for root.
  const folder = host.files.blackBox;
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, "");
  for (let nth = 0; nth < 2; nth++) {
    await expect(host.apply(OFF)).rejects.toThrow("only until svc starts anew");
    expect([box.isPaused, (await host.states())[0]?.applied]).toEqual([true, null]);
  }
  rmSync(folder);
  await host.apply(OFF);
  expect(existsSync(join(folder, "paused.json"))).toBe(true);
  expect((await host.states())[0]?.applied).toEqual(expect.any(String));
});

test("is not begun where the server was started without it: that is for who starts it", async () => {
  await using host = stateHost();
  expect(await found(host, ON)).toEqual([["black_box", "differs", "hand", "off", "on"]]);
  expect(await host.apply(ON)).toMatchObject({ changed: [], left: [{ kind: "black_box", by: "hand" }] });
  expect(await found(host, OFF)).toEqual([]);
});

test("is set for a token that may operate the host, as by itself", async () => {
  await using host = stateHost(KEEPS);
  const desk = await host.token("desk", "read", "operate");
  await host.apply(OFF, desk);
  expect((await host.service.blackBox()).isPaused).toBe(true);
});

test("belongs to no two states that want it otherwise; two may want the same", async () => {
  await using host = stateHost(KEEPS);
  await host.apply(OFF);
  await host.apply({ ...OFF, name: "other" });
  const opposite = { ...ON, name: "third" };
  expect(await found(host, opposite)).toEqual([["black_box", "taken", "hand", "lab", "on"]]);
  await expect(host.apply(opposite)).rejects.toThrow(
    "the state lab wants the black box off: take black_box out of one of the two files, and apply that one first",
  );
  expect((await host.service.blackBox()).isPaused).toBe(true);
  await host.apply({ name: "lab" });
  await host.apply({ name: "other" });
  await host.apply(opposite);
  expect((await host.service.blackBox()).isPaused).toBe(false);
});
