/** A desk whose address book has hosts on NATS, and which has no credentials there, or none that can be read. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { carrierTo } from "../../../src/client/connection";
import { testService } from "../../support";

test.each([
  [undefined, "there is no nats.json here: `svc nats use` takes one"],
  ["{}", "nats.json was not written by `svc nats`"],
])("with nats.json %p, its hosts are unreachable, and no more", async (content, message) => {
  await using made = testService();
  if (content !== undefined) writeFileSync(join(made.configDir, "nats.json"), content);
  const key = `U${"A".repeat(55)}`;
  const member = { host_id: "0".repeat(32), host_key: "k", nonce: "n", nats_key: key };
  const book = await made.service.addressBook();
  await book.add({ label: "lab", base_url: `nats:${key}`, tags: [], member });
  // The second time, too: what is wrong with a file stays known.
  for (let nth = 0; nth < 2; nth++) {
    await expect(carrierTo(book.server("lab"))).rejects.toMatchObject({
      fault: "unreachable",
      sent: false,
      message: expect.stringContaining(message),
    });
  }
});
