/** A process that may open nothing more holds back a request: writes how that ended. Its limit is small (tests/http/hold-back.test.ts). */
import { closeSync, openSync } from "node:fs";
import { createHoldBack } from "../../src/http/hold-back";
import { hasNoDescriptor } from "../../src/lib/descriptors";

const server = Bun.serve({
  port: 0,
  async fetch(request, at) {
    const peer = at.requestIP(request);
    const taken: number[] = [];
    const holdBack = createHoldBack();
    if (new URL(request.url).pathname === "/again") (await holdBack(peer))();
    while (!hasNoDescriptor()) taken.push(openSync("/dev/null", "r"));
    try {
      (await holdBack(peer))();
      return new Response("done");
    } catch (error) {
      return new Response(String(error));
    } finally {
      taken.forEach(closeSync);
    }
  },
});
const texts = [];
for (const path of ["/", "/again"]) texts.push(await (await fetch(new URL(path, server.url))).text());
console.log(JSON.stringify(texts));
await server.stop(true);
