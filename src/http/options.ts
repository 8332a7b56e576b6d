/**
 * The options of the REST server: each once, with its default, bounds and description. The flags of `svc serve`, their help
 * and completion, the fields of `AC_rest_api_start`, and the check when a server starts follow from here.
 */
import * as v from "valibot";
import { bytes, field, flag, path, secret, whole } from "../core/fields";

const file = (description: string) => field(v.optional(path(v.pipe(v.string(), v.nonEmpty()))), description);

const TEXTS = v.optional(v.array(v.pipe(v.string(), v.nonEmpty())), []);

/** The options that `svc serve` has as flags. */
export const SERVER_FIELDS = {
  host: field(v.optional(v.pipe(v.string(), v.nonEmpty()), "127.0.0.1"), "Address to listen on"),
  port: field(v.optional(whole(0, 65_535), 9939), "Port to listen on; 0 picks a free one"),
  audit: field(v.optional(v.boolean(), true), "Keep an audit log"),
  audit_max_rows: field(
    // A million rows take some 400 MB.
    v.optional(whole(0, 1_000_000_000), 1_000_000),
    "Maximum number of rows in the audit log; older rows are archived; 0: no limit",
  ),
  token_file: file("File that holds the bearer token"),
  tls: flag("Speak TLS on loopback too; beyond it svc always does"),
  tls_cert: file("PEM file with the certificate chain (default: a certificate that svc makes)"),
  tls_key: file("PEM file with the private key"),
  client_ca: file(
    "PEM file with authorities: clients need a certificate of one of them. svc has none as a client: no desk reaches such a host",
  ),
  insecure_http: flag("Speak plain http beyond loopback, where everybody on the way can read the tokens"),
  rate_limit: field(
    v.optional(v.pipe(v.number(), v.finite(), v.minValue(0)), 120),
    "Requests per minute for each token of a client; 0: no limit",
  ),
  rate_burst: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 30),
    "Requests allowed at once",
  ),
  max_connections: field(
    v.optional(whole(1, 1_000_000), 4_096),
    "Maximum number of connections; at most as many as the files that svc may have open allow",
  ),
  max_client_connections: field(
    v.optional(whole(1, 1_000_000), 128),
    "Maximum number of connections of a client without a token",
  ),
  trust_proxy: field(TEXTS, "Address or CIDR block whose X-Forwarded-For header is trusted"),
  allow_host: field(TEXTS, "Additional host name to answer to"),
  max_body: field(
    v.optional(bytes(v.pipe(v.number(), v.integer(), v.minValue(1))), 1_000_000),
    "Maximum size of a request body, in bytes",
  ),
};

/** What a server is started with. `token` is the token itself; without it, see `openToken`. */
export const SERVER_OPTIONS = v.strictObject({
  ...SERVER_FIELDS,
  token: field(v.optional(secret(v.string())), "Bearer token (default: as `svc serve` finds it)"),
});

/** {@link SERVER_OPTIONS} as a caller gives them: what is left out has its default. */
export type RestServerOptions = v.InferInput<typeof SERVER_OPTIONS>;
