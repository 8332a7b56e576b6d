import { expect, test } from "bun:test";
import { addressBook } from "../../../src/host/diagnostics/checks/address-book";
import { testService } from "../../support";
import { CALLER } from "./support";

const pin = `spki:${"A".repeat(43)}`;

test("hosts that are reached by http across a network are a warning, each by its name", async () => {
  await using made = testService();
  const { service } = made;
  expect(await addressBook.run(service, CALLER)).toMatchObject({ severity: "info", detail: "no hosts" });
  const book = await service.addressBook();
  const add = (label: string, base_url: string, more = {}) =>
    book.add({ label, base_url, token: "its-token-0123456789", tags: [], ...more });
  await add("here", "http://127.0.0.1:9939");
  await add("pinned", "https://10.0.0.4:9939", { pin });
  await add("public", "https://lab.example");
  expect(await addressBook.run(service, CALLER)).toMatchObject({
    ok: true,
    severity: "info",
    detail: "3 hosts, 1 of them without a pin, by the usual authorities",
    extra: { hosts: 3, not_encrypted: [], unpinned: ["public"] },
  });
  for (const at of [1, 2, 3, 4, 5, 6]) await add(`plain-${at}`, `http://10.0.1.${at}:9939`);
  const found = await addressBook.run(service, CALLER);
  expect(found).toMatchObject({ ok: true, severity: "warn" });
  expect(found.detail).toBe(
    "6 of 9 hosts are reached by http, which others can read and change, the token too: plain-1, plain-2, plain-3, plain-4, plain-5, …",
  );
  expect(JSON.stringify(found)).not.toContain("its-token");
});
