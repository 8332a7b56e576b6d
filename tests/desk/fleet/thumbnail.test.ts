/** Small pictures of the screens of hosts, through their desk. */
import { expect, test } from "bun:test";
import { createThumbnails } from "../../../src/host/desktop/screen/thumbnail/thumbnails";
import { TOKEN, testServer } from "../../support";

test("a desk hands on the picture of a host, which it keeps no copy of, and says when it is the same", async () => {
  await using host = await testServer();
  await using desk = await testServer();
  let shown = "first";
  const thumbnails = createThumbnails(async () => Buffer.from(shown).toString("base64"));
  Object.assign(host.service, { thumbnails: async () => thumbnails });
  const book = await desk.service.addressBook();
  await book.add({ label: "lab 1", base_url: host.server.url, token: TOKEN, tags: [] });
  let etag = "";
  const look = async () => {
    const answer = await desk.call("/admin/hosts/lab%201/screen/thumbnail?width=160", {
      headers: { "if-none-match": etag },
    });
    etag = answer.headers.get("etag") ?? "";
    return { status: answer.status, text: await answer.text() };
  };
  expect(await look()).toEqual({ status: 200, text: "first" });
  expect(await look()).toEqual({ status: 304, text: "" });
  shown = "second";
  await Bun.sleep(250);
  expect(await look()).toEqual({ status: 200, text: "second" });

  expect((await desk.call("/admin/hosts/none/screen/thumbnail")).status).toBe(404);
  const rows = async ({ call }: typeof desk) =>
    (await (await call("/audit/list")).text()).split("looks at small");
  expect([(await rows(desk)).length, (await rows(host)).length]).toEqual([2, 2]);
});

test("the error of a host that shows nothing names the host", async () => {
  await using host = await testServer({ service: { screen: false } });
  await using desk = await testServer();
  await (await desk.service.addressBook()).add({
    ...{ label: "lab", base_url: host.server.url, token: TOKEN, tags: [] },
  });
  const answer = await desk.call("/admin/hosts/lab/screen/thumbnail");
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { error: expect.stringContaining("lab: HTTP 403: the live screen is off here") },
  ]);
});
