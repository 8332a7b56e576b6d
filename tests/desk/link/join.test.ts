/** Joining a desk that takes links. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { leave } from "../../../src/host/join/operations";
import { readMembership } from "../../../src/wire/join/membership";
import { joinString, joinWith } from "../join/support";
import { linkServer, untilEvent } from "./support";

test("a host joins a hub without an address: its entry is link: and its id, and no token is kept", async () => {
  await using desk = await linkServer(true);
  await using host = await linkServer(false);
  const { join_string } = await joinString(desk);
  const joined = await joinWith(host, join_string);
  expect(joined).toMatchObject({ dials: true, url: `link:${joined.host_id}` });
  const [entry] = (await desk.service.addressBook()).hosts();
  expect(entry).toMatchObject({ base_url: `link:${joined.host_id}`, member: { host_id: joined.host_id } });
  expect(entry?.token).toBeUndefined();
  expect(JSON.stringify((await desk.service.addressBook()).content())).not.toContain("svct_");
  expect(readMembership(host.files.desk)?.carriers).toEqual([{ kind: "link" }]);
});

test("a host that says where it is reached is reached there, and so is every host of a desk that takes no links", async () => {
  await using hub = await linkServer(true);
  await using desk = await linkServer(false);
  await using host = await linkServer(false);
  await using other = await linkServer(false);
  const direct = host.server.url;
  const asked = await joinWith(host, (await joinString(hub)).join_string, { direct });
  expect(asked).toMatchObject({ dials: false, url: direct });
  const joined = await joinWith(other, (await joinString(desk)).join_string);
  expect(joined).toMatchObject({ dials: false, url: other.server.url });
  expect(readMembership(other.files.desk)?.carriers).toEqual([{ kind: "direct", url: other.server.url }]);
});

test("a server dials as soon as its host joins, and no more once it has left", async () => {
  await using desk = await linkServer(true);
  await using host = await linkServer(false);
  await desk.service.runJobs();
  await host.service.runJobs();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  await host.service.refresh();
  expect(await untilEvent(desk, "host.up")).toMatchObject({ label });
  await callOperation(host.service, leave, {}, localCaller(host.service, "cli"));
  await host.service.refresh();
  expect(await untilEvent(desk, "host.down")).toMatchObject({ label });
  expect(await host.service.hostLink()).toBeNull();
});
