/** A thousand hosts use a string at once. Each has a key and an address of its own. */
import { expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { request } from "node:https";
import { systemCode } from "../../../src/lib/errors";
import { parseJoinString } from "../../../src/wire/join/join-string";
import { joinMessage } from "../../../src/wire/join/messages";
import { joinString, tlsServer } from "./support";

const HOSTS = 1_000;

/** Others have one address on loopback. */
const onLinux = process.platform === "linux" ? test : test.skip;

/** What a host sends that has just been made. */
function requestOf(join_string: string, nth: number) {
  const { pin, id, secret } = parseJoinString(join_string);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const host_key = publicKey.export({ format: "jwk" }).x ?? "";
  const [name, url, token] = [`host-${nth}`, "https://10.0.0.1:9939", `token-of-${nth}`];
  const about = { id, host_key, name, url, token, time: Date.now() };
  const signature = sign(null, Buffer.from(joinMessage(pin, about)), privateKey).toString("base64url");
  return JSON.stringify({ ...about, secret, signature });
}

/** A busy server ends connections that wait for long; like `svc join`, these hosts ask again. */
const ask = (url: string, body: string, address: string): Promise<string> =>
  send(url, body, address).catch((error) => {
    if (systemCode(error) !== "ECONNRESET") throw error;
    return ask(url, body, address);
  });

/** Linux takes any address of 127.0.0.0/8 for its own. */
function send(url: string, body: string, localAddress: string) {
  return new Promise<string>((resolve, reject) => {
    request(`${url}/join`, { method: "POST", localAddress, rejectUnauthorized: false, agent: false })
      .on("response", async (response) => {
        const { error = "joined" } = JSON.parse(Buffer.concat(await Array.fromAsync(response)).toString());
        resolve(`${response.statusCode} ${error}`);
      })
      .on("error", reject)
      .end(body);
  });
}

for (const uses of [1, 7]) {
  onLinux(
    `with a string for ${uses}, exactly ${uses} of ${HOSTS} hosts join; the others learn why not`,
    async () => {
      await using desk = await tlsServer();
      const { join_string } = await joinString(desk, { uses });
      const bodies = Array.from({ length: HOSTS }, (_, nth) => requestOf(join_string, nth));
      const addressOf = (nth: number) => `127.1.${nth >> 8}.${nth & 255}`;
      const said = await Promise.all(
        bodies.map((body, nth) => ask(desk.server.url, body, addressOf(nth + 1))),
      );
      const counts = Map.groupBy(said, (one) => one);
      const why = uses === 1 ? "it was for one host" : `it was for ${uses} hosts`;
      expect(Object.fromEntries([...counts].map(([one, all]) => [one, all.length]))).toEqual({
        "200 joined": uses,
        [`409 this join string is used up: ${why}`]: HOSTS - uses,
      });
      expect((await desk.service.addressBook()).hosts()).toHaveLength(uses);
      expect((await desk.service.joinStrings()).list()).toMatchObject([{ used: uses, uses }]);
    },
  );
}
