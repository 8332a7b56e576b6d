/** Opening the screen of another host, which is hostile. */
import { expect, test } from "bun:test";
import { openScreen } from "../../../../src/host/desktop/screen/carry/open";

test("an answer that is far larger than a ticket is not read to its end", async () => {
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ ticket: "x".repeat(1_000_000), url: "", expires_at: "", viewer_id: "v" }),
  });
  const host = { url: `${server.url.origin}`, token: "not-a-token-of-it", trust: { kind: "any" } } as const;
  const noPeers = () => Promise.reject(new Error("no data channel"));
  const opening = openScreen(host, { control: false }, noPeers, new AbortController().signal);
  await expect(opening).rejects.toThrow("answer larger than 0.25 MiB");
});
