/** `sign_in`: the OpenID provider answers and can do what svc needs of it, and oidc.json says what its groups may do. */
import type { SignIn } from "../../../trust/oidc/sign-in";
import { check, failed, fine, warning } from "../check";

interface Uses {
  signIn(): Promise<SignIn | null>;
  addressBook(): Promise<{ select(selection: string): readonly unknown[] }>;
}

export const signIn = check({
  name: "sign_in",
  summary:
    "The OpenID provider answers and can do what svc needs, and `oidc.json` names known scopes and hosts",
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
    };
    if (flows && !flows.includes("S256"))
      return failed(`${issuer} does not take PKCE with S256`, ["allow it at the provider"], extra);
    const rules = signIn.rules();
    const book = await service.addressBook();
    const empty = rules.filter(({ on }) => on !== undefined && !selects(book, on));
    const groups = rules.map(({ group }) => group);
    if (rules.length === 0) {
      return warning("oidc.json names no group: nobody may sign in", ["name one in oidc.json"], {
        ...extra,
        groups,
      });
    }
    if (empty.length > 0) {
      const named = empty.map(({ group, on }) => `${group} (on ${on})`).join(", ");
      return warning(`no host is selected for ${named}`, ["svc admin list shows labels and tags"], {
        ...extra,
        groups,
      });
    }
    return fine(`${issuer} answers; groups in oidc.json: ${rules.length}`, { ...extra, groups });
  },
});

function selects(book: { select(selection: string): readonly unknown[] }, on: string): boolean {
  try {
    return book.select(on).length > 0;
  } catch {
    return false;
  }
}
