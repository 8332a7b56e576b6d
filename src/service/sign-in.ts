/** Signing in at the OpenID provider of this server, as its flags say. */
import { join } from "node:path";
import { badInput, unavailable } from "../lib/errors";
import { readIfThere } from "../lib/files";
import { tokenStore } from "../trust/named-tokens";
import { readRules } from "../trust/oidc/groups";
import { createProvider } from "../trust/oidc/provider";
import { createSignIn, type SignIn } from "../trust/oidc/sign-in";
import { createSignedOut } from "../trust/signed-out";
import type { Service } from "./interface";
import type { ServiceParts } from "./parts";

/** The name of the systemd credential with the secret of the client. */
const CREDENTIAL = "oidc_secret";

/** @throws `bad_input` for flags that do not go together; `unavailable` for a file that cannot be read. */
export function openSignIn(
  { options, files, log, publish, tokens, ...shared }: ServiceParts,
  issuer: string,
): SignIn {
  const { oidc_client: client, oidc_ca: ca, oidc_groups: groupsClaim, oidc_url, oidc_agents } = options;
  if (client === undefined) throw badInput("oidc_client: expected with oidc");
  if (oidc_agents?.length && oidc_url === undefined)
    throw badInput("oidc_agents: expected with oidc_url: an access token is for one address");
  const provider = createProvider({
    issuer,
    client,
    secret: secretOf(options.oidc_secret_file),
    ca: ca === undefined ? undefined : textOf(ca, "oidc_ca"),
    groupsClaim,
  });
  return createSignIn({
    provider,
    publicUrl: oidc_url?.replace(/\/+$/, ""),
    agents: oidc_agents ?? [],
    store: tokenStore(files, log, publish),
    signedOut: createSignedOut(files, log),
    ending: tokens.ending,
    lifetime: { idleS: Number(options.oidc_idle), lifeS: Number(options.oidc_session) },
    log,
    rules: () => readRules(files.oidc),
    endWorkOf: (name) => endWorkOfSession(shared.service, name),
  });
}

/** Ends what a session has started that is over. No request is answered with it from then on. */
export async function endWorkOfSession(service: Service, name: string): Promise<void> {
  await (await service.rest()).server?.refresh();
  await service.endWorkOf(name);
}

/** The secret in `file`, else the systemd credential; undefined where there is neither. */
function secretOf(file: string | undefined): string | undefined {
  const folder = process.env.CREDENTIALS_DIRECTORY;
  const secret =
    file !== undefined ? textOf(file, "oidc_secret_file") : folder && readIfThere(join(folder, CREDENTIAL));
  if (secret === undefined || secret === "") return undefined;
  const [line = ""] = secret.split(/\r?\n/, 1);
  if (line === "") throw badInput("oidc_secret_file: the first line is empty");
  return line;
}

function textOf(path: string, field: string): string {
  const text = readIfThere(path);
  if (text === undefined) throw unavailable(`${field}: there is no file ${path}`);
  return text;
}
