/**
 * Offers of peers that are hardly session descriptions, on a host that reaches nobody: each costs a session at most, and
 * the server lives on.
 */
import { expect } from "bun:test";
import fc from "fast-check";
import { installHost } from "../soak/host";
import { TOKEN, testWith } from "../support";
import { mutatedBytes, RUNS, seedsIn } from "./inputs";

testWith(
  "unshare",
  "nsenter",
  "ip",
  "curl",
)(
  "an offer is answered or refused",
  async () => {
    using host = installHost();
    // An address, at a link behind which is nobody.
    const link =
      "ip link add here type veth peer name there && ip addr add 192.0.2.2/24 dev here && ip link set there up";
    const network = `ip link set lo up && ${link} && ip link set here up && exec "$@"`;
    await using server = await host.serve({ before: ["unshare", "-rn", "sh", "-c", network, "-"] });
    const inside = ["nsenter", "-t", String(server.pid), "-U", "-n", "--preserve-credentials"];
    const post = async (path: string, body: unknown) => {
      const input = Buffer.from(JSON.stringify(body));
      const options = [
        "-s",
        "-w",
        "\n%{http_code}",
        "-H",
        `Authorization: Bearer ${TOKEN}`,
        "--data-binary",
        "@-",
      ];
      const answer = await Bun.$`${inside} curl ${options} ${server.url + path} < ${input}`.text();
      const [text = "", status = ""] = answer.split("\n");
      return { body: JSON.parse(text), status: Number(status) };
    };
    /** The status of the answer to `offer`; a session that comes of it is closed. */
    const statusOf = async (offer: Buffer) => {
      const { status, body } = await post("/sessions/offer", {
        type: "offer",
        sdp: offer.toString(),
        viewer_id: "fuzz",
      });
      if (status === 200) expect((await post("/sessions/close", { id: body.session_id })).status).toBe(200);
      return status;
    };
    const isAnswered = async (offer: Buffer) => {
      // 503: the peer's own process ended of it.
      expect([200, 400, 503]).toContain(await statusOf(offer));
    };
    const seeds = seedsIn("sdp");
    const good = new Map(seeds).get("offer.sdp") ?? Buffer.alloc(0);
    for (const [, offer] of seeds) await isAnswered(offer);
    await fc.assert(fc.asyncProperty(mutatedBytes(seeds), isAnswered), { numRuns: RUNS.numRuns / 8 });
    expect(await statusOf(good)).toBe(200);
    expect(server.log.text()).not.toMatch(/\n {4}at /);
  },
  120_000,
);
