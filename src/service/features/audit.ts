/**
 * The audit log of this host, the witness that it is to others, and the logs that this desk watches.
 */
import { existsSync } from "node:fs";
import { requireKnownFormat } from "../../lib/format";
import { findRunningServer } from "../../lib/running-server";
import type { Service } from "../interface";
import type { ServiceOptions } from "../options";
import type { Shared } from "../shared";

type Features = Pick<
  Service,
  "audit" | "existingAudit" | "witness" | "existingWitness" | "newestRestore" | "watchedLogs" | "foundLogs"
>;

/** @returns besides the features `watchLogs`, which has the logs of hosts that have joined watched from now on, once there are any. */
export function auditFeatures(
  shared: Shared,
  logsAuditFailures: ServiceOptions["logsAuditFailures"],
): Features & { watchLogs(): Promise<void> } {
  const { configDir, files, options, log, publish, made, phase, feature, stoppable, prepareFor, stopLast } =
    shared;
  const collector = stoppable(async () => {
    const [{ createCollector }, { openSigningKey }] = await Promise.all([
      import("../../witness/collector"),
      import("../../lib/signing-key"),
    ]);
    return createCollector({
      ...(await shared.service.witness()),
      ...{ book: await shared.service.addressBook(), deskKey: openSigningKey(files.deskKey), log, publish },
      async verifyRow(proof, vkey) {
        const [{ verifyProof }, { parseVerifierKey }] = await Promise.all([
          import("../../audit/witness/proof"),
          import("../../lib/signed-note"),
        ]);
        return verifyProof(proof, { key: parseVerifierKey(vkey), witnesses: [] });
      },
    });
  });
  return {
    audit: feature(async () => {
      if (!options.audit) return null;
      for (const found of [files.auditLog, files.auditHead]) await prepareFor(found);
      const { openAuditLog } = await import("../../audit/log");
      const audit = await openAuditLog({
        ...{ path: files.auditLog, log, publish },
        logsFailures: logsAuditFailures,
        // A row comes before each change.
        async beforeWriting() {
          await shared.service.prepareFolder();
          // Since then, a newer svc may have given the folder its format: only a server keeps it from that.
          if (!phase.isClaimed) requireKnownFormat(configDir);
        },
      });
      // Everything else may leave rows while it stops.
      stopLast(() => audit.close());
      return audit;
    }),
    existingAudit: async () =>
      [files.auditLog, files.auditHead].some(existsSync) || findRunningServer(configDir)?.pid === process.pid
        ? shared.service.audit()
        : null,
    witness: feature(
      async () => {
        const [{ openStore }, { createWitness }, { openSigningKey }] = await Promise.all([
          import("../../witness/store"),
          import("../../witness/witness"),
          import("../../lib/signing-key"),
        ]);
        await prepareFor(files.witness);
        const store = openStore(files.witness);
        return { store, witness: createWitness({ store, key: openSigningKey(files.witnessKey), publish }) };
      },
      ({ store }) => store.close(),
    ),
    existingWitness: async () => (existsSync(files.witness) ? shared.service.witness() : null),
    async newestRestore() {
      const own = await (await shared.service.audit())?.witness();
      if (!own) return null;
      const { newestRestore } = await import("../../witness/restored");
      return newestRestore(own, (await shared.service.membership())?.desk_key);
    },
    watchedLogs: async () => made.collector?.() ?? null,
    async foundLogs() {
      const watched = await shared.service.watchedLogs();
      const open = watched ? null : await shared.service.existingWitness();
      if (!watched && !open) return new Map();
      const { recordsIn, watchedIn } = await import("../../witness/states");
      return watchedIn(watched?.records() ?? recordsIn(open?.store.records() ?? new Map()));
    },
    async watchLogs() {
      if (!made.collector && !(await shared.service.addressBook()).hosts().some(({ member }) => member))
        return;
      made.collector = collector;
      (await collector()).start();
    },
  };
}
