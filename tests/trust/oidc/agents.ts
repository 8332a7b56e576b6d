/** Access tokens that agents bring, and a desk that takes them. */
import { importJWK, type JWK, SignJWT } from "jose";
import { AGENT, usualKey } from "./provider";
import { setUp } from "./support";

/** In seconds. */
export const now = () => Math.floor(Date.now() / 1_000);

/** An access token as a provider makes it, but for `change`. */
export async function accessToken(
  key: JWK,
  issuer: string,
  resource: string,
  { typ = "at+jwt", ...change }: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const claims = {
    ...{ iss: issuer, aud: resource, sub: "alice", client_id: AGENT, jti: crypto.randomUUID() },
    ...{ iat: now(), exp: now() + 300, groups: ["viewers"], preferred_username: "alice@example.org" },
    ...change,
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", kid: `${key.kid}`, typ: `${typ}` })
    .sign(await importJWK(key, "RS256"));
}

/** A desk that knows its address, and what an agent asks it. */
export async function accessTokenDesk(
  groups: object = { viewers: { scope: ["read"] } },
  service: Readonly<Record<string, unknown>> = {},
) {
  const key = await usualKey();
  const made = await setUp({ keys: [key], knowsUrl: true, groups, service });
  const resource = `${made.url}/mcp`;
  const ping = (token?: string, path = "/mcp") =>
    fetch(`${made.url}${path}`, {
      method: path === "/mcp" ? "POST" : "GET",
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      ...(path === "/mcp" && { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) }),
    });
  return {
    ...made,
    ...{ key, resource, ping },
    tokenWith: (change: Readonly<Record<string, unknown>> = {}, by = key) =>
      accessToken(by, made.peer.issuer, resource, change),
    signIns: async () => {
      const { rows } = Object(await (await made.call("/audit/list?limit=100")).json());
      return rows.filter(({ detail }: { detail: string }) => detail.includes("started oidc.sign_in")).length;
    },
  };
}
