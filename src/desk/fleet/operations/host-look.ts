/**
 * What a host of the address book says of itself, for its page at the desk: its runs, jobs, checks and audit log. The host has limits and
 * a log of its own.
 */
import * as v from "valibot";
import { field, HOST_LABEL } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { allows, beyond, type Scope } from "../../../core/rights";
import { forbidden } from "../../../lib/errors";
import type { AddressBook } from "../address-book";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "server">>;
}

/** What can be looked at: where it is at the host, and what a token of this desk has to allow, as one of the host. */
const LOOKS = {
  runs: { path: "/runs?limit=50", needs: "read" },
  jobs: { path: "/jobs", needs: "read" },
  diagnostics: { path: "/diagnose", needs: "read" },
  audit: { path: "/audit/status", needs: "audit" },
} as const satisfies Record<string, { readonly path: string; readonly needs: Scope }>;

type What = keyof typeof LOOKS;

/** How long a host may take, in milliseconds: its checks start programs. */
const ANSWER_MS = 30_000;

/** The largest answer: the runs, with what each of them has run. */
const MAX_BYTES = 1_048_576;

const lookAtHost = operation({
  name: "admin.host_look",
  onHosts: true,
  summary: "Show what a host of the address book says of its runs, jobs, checks or audit log",
  scope: "read",
  leftOut: {
    cli: "`svc runs list`, `svc jobs list`, `svc diagnose` and `svc audit status` take `--on`",
    script: "a broadcast has the commands for each of them",
  },
  http: { method: "GET", path: "/admin/hosts/{label}/look", relays: true },
  input: v.strictObject({
    label: HOST_LABEL,
    what: field(v.picklist(Object.keys(LOOKS) as What[]), "What to look at"),
  }),
  /** As the host answers there: `GET /runs`, `/jobs`, `/diagnose` or `/audit/status`. */
  output: v.record(v.string(), v.unknown()),
  async run(service: Uses, { label, what }, caller) {
    const { path, needs } = LOOKS[what];
    if (!allows(caller.grant, needs)) throw forbidden(beyond(caller.grant, `${what} needs ${needs}`));
    const server = (await service.addressBook()).server(label);
    caller.request?.relay?.to(label);
    // Loaded on first use: the modules for dialling are large.
    const [{ getFromHost }, { typed }] = await Promise.all([
      import("../../../client/for-caller"),
      import("../../../client/remote-call"),
    ]);
    const answer = await getFromHost({ label, server }, path, { ms: ANSWER_MS, maxBytes: MAX_BYTES }, caller);
    return typed(v.record(v.string(), v.unknown()), answer);
  },
});

export const operations = [lookAtHost];
