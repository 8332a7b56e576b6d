/** The passkeys of this process, as the flags of its server say. */
import { demandsOf } from "../trust/passkeys/options";
import { createPasskeys, type Passkeys } from "../trust/passkeys/passkeys";
import { passkeyStore } from "../trust/passkeys/store";
import { uriOf } from "./host-uri";
import type { ServiceParts } from "./parts";

export function openPasskeys({ files, log, options, ...shared }: ServiceParts): Passkeys {
  return createPasskeys({
    store: passkeyStore(files, log),
    demands: demandsOf(options.passkey_for),
    invites: options.passkey_invite,
    host: uriOf(files.hostKey),
    async reach() {
      const { server } = await shared.service.rest();
      const port = server ? Number(new URL(server.url).port || (server.tls ? 443 : 80)) : undefined;
      return { tls: server?.tls === true, port, publicUrl: options.oidc_url };
    },
  });
}
