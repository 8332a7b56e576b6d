/** Attack: 16 offers whose caller never connects, to hold every session of the host. */
import { expect, test } from "bun:test";
import { post, serveBinary, until } from "../support";
import { addToken } from "./raw";
import { SDP } from "./sdp";

test("bogus offers leave sessions for other clients, and are gone soon", async () => {
  await using server = await serveBinary(["--rate-limit", "0"]);
  const other = await addToken(server, "other", { scope: "sync" });
  const offer = post({ type: "offer", sdp: SDP, viewer_id: "attacker" });
  const answers = await Promise.all(Array.from({ length: 16 }, () => server.call("/sessions/offer", offer)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(8);
  const refused = answers.find(({ status }) => status !== 200);
  expect([refused?.status, await refused?.json()]).toMatchObject([
    503,
    { error: "this client has 8 sessions already, and leaves the rest to others" },
  ]);
  const headers = { ...offer.headers, authorization: `Bearer ${other}` };
  expect((await server.call("/sessions/offer", { ...offer, headers })).status).toBe(200);
  await until("the end of the sessions", async () => {
    const { sessions } = (await (await server.call("/sessions")).json()) as { sessions: unknown[] };
    return sessions.length === 0;
  });
}, 180_000);
