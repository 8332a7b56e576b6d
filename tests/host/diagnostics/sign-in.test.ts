/** What the check `sign_in` says of the provider's clock, and of a proxy in front. */
import { expect, test } from "bun:test";
import { localCaller } from "../../../src/core/caller";
import { signIn } from "../../../src/host/diagnostics/checks/sign-in";
import type { SignIn } from "../../../src/trust/oidc/sign-in";
import { testService } from "../../support";

/** The finding for a server at `url`. */
async function found({
  aheadMs = 0,
  publicUrl,
  url = "http://127.0.0.1:9939",
  trustsProxy = false,
}: {
  aheadMs?: number;
  publicUrl?: string;
  url?: string;
  trustsProxy?: boolean;
}) {
  await using made = testService();
  const issuer = "https://id.example.org";
  const provider = { issuer, metadata: async () => ({ issuer }), aheadMs: () => aheadMs };
  const rules = () => [{ group: "staff", scopes: ["read"], on: undefined }];
  const service = {
    signIn: async () => ({ issuer, provider, publicUrl, rules }) as unknown as SignIn,
    rest: async () => ({ server: { url, trustsProxy } }),
    addressBook: async () => ({ select: async () => [] }),
  };
  const { severity, detail } = await signIn.run(service, localCaller(made.service, "api"));
  return [severity, detail];
}

test("a proxy whose word does not count is told of, as all people share its limits then", async () => {
  const publicUrl = "https://desk.example.org";
  expect(await found({ publicUrl })).toEqual([
    "warn",
    expect.stringContaining("people come to https://desk.example.org through a proxy that is not trusted"),
  ]);
  expect(await found({ publicUrl, trustsProxy: true })).toEqual(["info", expect.any(String)]);
  // Without a proxy, for agents.
  const direct = { publicUrl: `${publicUrl}:9939`, url: "https://0.0.0.0:9939" };
  expect(await found(direct)).toEqual(["info", expect.any(String)]);
});

test("a clock that is not that of the provider is told of", async () => {
  expect(await found({ aheadMs: 31_000 })).toEqual([
    "warn",
    "the clock of this host is 31 s behind that of the provider",
  ]);
  expect(await found({ aheadMs: -90_000 })).toEqual([
    "warn",
    "the clock of this host is 90 s ahead of that of the provider",
  ]);
  expect(await found({ aheadMs: 20_000 })).toEqual(["info", expect.any(String)]);
});
