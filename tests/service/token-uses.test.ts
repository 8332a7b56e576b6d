/** How tokens ended, as what they have begun is told. */
import { expect, spyOn, test } from "bun:test";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { createTokenUses } from "../../src/service/token-uses";
import { removeToken, tokenStore } from "../../src/trust/named-tokens";
import { beginSession } from "../../src/trust/oidc/sessions";
import { temporaryFolder } from "../support";

test("to a plan, a session that has expired is no revoked one when somebody else signs in; one that was ended is", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const store = tokenStore(files, silentLog);
  const uses = createTokenUses(files, silentLog, async () => {});
  const signIn = async (subject: string) => {
    const person = { issuer: "https://id.example", subject, label: subject, sid: undefined };
    const life = { idleS: 60, lifeS: 600 };
    return (await beginSession(store, person, { scopes: ["operate"], on: undefined }, life)).name;
  };
  const ann = await signIn("ann");
  expect((await uses.endingsForPlans())(ann)).toBeNull();
  const now = Date.now();
  using _later = spyOn(Date, "now").mockReturnValue(now + 3_600_000);
  expect((await uses.endingsForPlans())(ann)).toBe("has expired");
  const bob = await signIn("bob");
  expect(store.entries().map(({ name }) => name)).toEqual([bob]);
  expect((await uses.endingsForPlans())(ann)).toBe("has expired");
  expect((await uses.endings())(ann)).toBe("was revoked");
  await removeToken(store, bob);
  expect((await uses.endingsForPlans())(bob)).toBe("was revoked");
});
