/** `sign_in`: the OpenID provider answers and can do what svc needs of it, and oidc.json says what its groups may do. */
import type { GroupRule } from "../../../trust/oidc/groups";
import type { SignIn } from "../../../trust/oidc/sign-in";
import { check, type Finding, failed, fine, warning } from "../check";

/** How the server of this process is reached. */
interface Server {
  readonly url: string;
  readonly trustsProxy: boolean;
}

interface Uses {
  signIn(): Promise<SignIn | null>;
  rest(): Promise<{ readonly server: Server | null }>;
  addressBook(): Promise<Book>;
}

/** From when on a clock is wrong, in milliseconds. */
const WRONG_MS = 30_000;

export const signIn = check({
  name: "sign_in",
  summary:
    "The OpenID provider answers and can do what svc needs, its clock is that of this host, `oidc.json` names known scopes and hosts, and the proxy in front is trusted",
  advice: ["compare --oidc with the issuer that the provider shows in its .well-known/openid-configuration"],
  deadlineMs: 15_000,
  async run(service: Uses) {
    const signIn = await service.signIn();
    if (!signIn)
      return fine("not used: no --oidc in this process; the page Diagnostics shows that of a server", {
        issuer: null,
      });
    const { issuer, provider } = signIn;
    const metadata = await provider.metadata();
    const flows = metadata.code_challenge_methods_supported;
    const extra = {
      issuer,
      backchannel_logout: metadata.backchannel_logout_supported === true,
      device_flow: metadata.device_authorization_endpoint !== undefined,
      names_itself: metadata.authorization_response_iss_parameter_supported === true,
      clock_ahead_s: Math.round(provider.aheadMs() / 1_000),
    };
    if (flows && !flows.includes("S256"))
      return failed(`${issuer} does not take PKCE with S256`, ["allow it at the provider"], extra);
    const rules = signIn.rules();
    const groups = rules.map(({ group }) => group);
    const { server } = await service.rest();
    return (
      (await ofRules(rules, await service.addressBook(), { ...extra, groups })) ??
      ofClock(provider.aheadMs(), { ...extra, groups }) ??
      ofProxy(signIn.publicUrl, server, { ...extra, groups }) ??
      fine(`${issuer} answers; groups in oidc.json: ${rules.length}`, { ...extra, groups })
    );
  },
});

type Extra = Finding["extra"];

/** The address book. */
interface Book {
  select(selection: string): Promise<readonly unknown[]>;
}

async function ofRules(rules: readonly GroupRule[], book: Book, extra: Extra): Promise<Finding | undefined> {
  if (rules.length === 0)
    return warning("oidc.json names no group: nobody may sign in", ["name one in oidc.json"], extra);
  const empty: string[] = [];
  for (const { group, on } of rules)
    if (on !== undefined && !(await selects(book, on))) empty.push(`${group} (on ${on})`);
  if (empty.length === 0) return undefined;
  const advice = ["svc admin list shows labels and tags"];
  return warning(`no host is selected for ${empty.join(", ")}`, advice, extra);
}

/** svc reads the times of the provider by its clock; all else on this host is by its own. */
function ofClock(aheadMs: number, extra: Extra): Finding | undefined {
  if (Math.abs(aheadMs) <= WRONG_MS) return undefined;
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const how = aheadMs > 0 ? "behind" : "ahead of";
  return warning(
    `the clock of this host is ${seconds} s ${how} that of the provider`,
    ["set the clock by NTP, here or at the provider"],
    extra,
  );
}

/** Behind a proxy whose word does not count, everybody has its address: a stranger uses up the limits of all. */
function ofProxy(publicUrl: string | undefined, server: Server | null, extra: Extra): Finding | undefined {
  if (publicUrl === undefined || !server || server.trustsProxy) return undefined;
  const [there, here] = [new URL(publicUrl), new URL(server.url)];
  if (there.protocol === here.protocol && there.port === here.port) return undefined;
  return warning(
    `people come to ${there.origin} through a proxy that is not trusted: they all have its address, and share the limits of those who have no token yet`,
    ["start svc with --trust-proxy and the address of the proxy, which sends X-Forwarded-For"],
    extra,
  );
}

const selects = (book: Book, on: string): Promise<boolean> =>
  book.select(on).then(
    (hosts) => hosts.length > 0,
    () => false,
  );
