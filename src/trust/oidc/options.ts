/** The flags of `svc serve` for signing in at an OpenID provider. */
import * as v from "valibot";
import { between, field, path, seconds } from "../../core/fields";
import { isLoopback } from "../../lib/loopback";

/** An address without a query: https, or http on loopback, where nobody else listens. */
const ADDRESS = v.pipe(
  v.string(),
  v.maxLength(500),
  v.check((text) => {
    const url = URL.parse(text);
    const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
    return isSafe && !url.username && !url.password && !url.search && !url.hash;
  }, "an https address without credentials and query (http on loopback)"),
);

const file = (description: string) => field(v.optional(path(v.pipe(v.string(), v.nonEmpty()))), description);

/** The longest life of a session, in seconds: a week. */
const MAX_SESSION_S = 7 * 86_400;

export const SIGN_IN_FIELDS = {
  oidc: field(
    v.optional(ADDRESS),
    "Let people sign in at this OpenID provider, such as https://id.example.org; oidc.json says what each group may do",
  ),
  oidc_client: field(
    v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(500))),
    "The id that svc has as a client of the provider",
  ),
  oidc_secret_file: file(
    "File that holds the secret of that client (default: the systemd credential oidc_secret; without one, svc is a public client)",
  ),
  oidc_ca: file("PEM file with authorities that vouch for the provider (default: the usual ones)"),
  oidc_groups: field(
    v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)), "groups"),
    "The claim that names the groups of a person; a dot leads into an object, as in realm_access.roles",
  ),
  oidc_url: field(
    v.optional(ADDRESS),
    "The address of this server in browsers, where a proxy in front speaks TLS (default: that of the request)",
  ),
  oidc_agents: field(
    v.optional(v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(500))), []),
    "The id of a client of the provider whose access tokens count at the MCP endpoint, for the person who has signed in to it; * for every client. With oidc_url",
  ),
  oidc_idle: field(
    v.optional(seconds(between(60, MAX_SESSION_S)), 3_600),
    "How long a session lives without a request",
  ),
  oidc_session: field(
    v.optional(seconds(between(60, MAX_SESSION_S)), 36_000),
    "How long a session lives however much it is used",
  ),
};
