/**
 * The audit log of this host, the witness that it is to others, and the logs that this desk watches.
 */
import { existsSync } from "node:fs";
import type { Collector } from "../../desk/witness/collector";
import type { WatchedLog } from "../../desk/witness/states";
import type { AuditLog } from "../../host/audit/log";
import type { Receipts } from "../../host/audit/receipt/receipts";
import type { Restore } from "../../host/audit/witness/findings";
import { requireKnownFormat } from "../../lib/format";
import { findRunningServer } from "../../lib/running-server";
import { isThere } from "../../lib/trust-files";
import type { OpenWitness } from "../../wire/witness/witness";
import type { ServiceOptions } from "../options";
import type { ServiceParts } from "../parts";

/** The audit log, witnesses and watched logs of a process. */
export interface AuditFeatures {
  /** Null when the service was made without an audit log. */
  audit(): Promise<AuditLog | null>;
  /** As `audit()`, but null where no log was ever kept: looking does not make one. */
  existingAudit(): Promise<AuditLog | null>;
  /** What makes receipts of runs and plans; null when the service was made without an audit log. */
  receipts(): Promise<Receipts | null>;
  /** The witness of this host, which is made where there is none. */
  witness(): Promise<OpenWitness>;
  /** As `witness()`, but null where it has witnessed no log. */
  existingWitness(): Promise<OpenWitness | null>;
  /** The newest restore of the audit log that a desk has signed; null where there was none. */
  newestRestore(): Promise<Restore | null>;
  /** What looks at the audit logs of hosts that have joined; null where this process does not. */
  watchedLogs(): Promise<Collector | null>;
  /** What that, or the server before, has found about each host, by its id. */
  foundLogs(): Promise<ReadonlyMap<string, WatchedLog>>;
}

/** @returns besides the features `watchLogs`, which has the logs of hosts that have joined watched from now on, once there are any. */
export function auditFeatures(
  shared: ServiceParts,
  logsAuditFailures: ServiceOptions["logsAuditFailures"],
): AuditFeatures & { watchLogs(): Promise<void> } {
  const { configDir, files, options, log, publish, made, phase, feature, stoppable, prepareFor, stopLast } =
    shared;
  const collector = stoppable(async () => {
    const [{ createCollector }, { openSigningKey }] = await Promise.all([
      import("../../desk/witness/collector"),
      import("../../lib/signing-key"),
    ]);
    return createCollector({
      ...(await shared.service.witness()),
      book: await shared.service.addressBook(),
      deskKey: openSigningKey(files.deskKey),
      log,
      publish,
      async verifyRow(proof, vkey) {
        const [{ verifyProof }, { parseVerifierKey }] = await Promise.all([
          import("../../host/audit/witness/proof"),
          import("../../wire/witness/signed-note"),
        ]);
        return verifyProof(proof, { key: parseVerifierKey(vkey), witnesses: [] });
      },
    });
  });
  return {
    audit: feature(async () => {
      if (!options.audit) return null;
      for (const found of [files.auditLog, files.auditHead]) await prepareFor(found);
      const { openAuditLog } = await import("../../host/audit/log");
      const audit = await openAuditLog({
        path: files.auditLog,
        log,
        publish,
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
    async receipts() {
      const audit = await shared.service.audit();
      if (!audit) return null;
      const [{ createReceipts }, { openSigningKey }] = await Promise.all([
        import("../../host/audit/receipt/receipts"),
        import("../../trust/identity"),
      ]);
      return createReceipts(audit, openSigningKey(files.hostKey));
    },
    witness: feature(
      async () => {
        const [{ openStore }, { createWitness }, { openSigningKey }] = await Promise.all([
          import("../../wire/witness/store"),
          import("../../wire/witness/witness"),
          import("../../lib/signing-key"),
        ]);
        await prepareFor(files.witness);
        const store = openStore(files.witness);
        return { store, witness: createWitness({ store, key: openSigningKey(files.witnessKey), publish }) };
      },
      ({ store }) => store.close(),
    ),
    existingWitness: async () => (isThere(files.witness) ? shared.service.witness() : null),
    async newestRestore() {
      const own = await (await shared.service.audit())?.witness();
      if (!own) return null;
      const { newestRestore } = await import("../../wire/witness/restore-row");
      return newestRestore(own, (await shared.service.membership())?.desk_key);
    },
    watchedLogs: async () => made.collector?.() ?? null,
    async foundLogs() {
      const watched = await shared.service.watchedLogs();
      const open = watched ? null : await shared.service.existingWitness();
      if (!watched && !open) return new Map();
      const { statusesIn, watchedIn } = await import("../../desk/witness/states");
      return watchedIn(watched?.statuses() ?? statusesIn(open?.store.statuses() ?? new Map()));
    },
    async watchLogs() {
      if (!made.collector && !(await shared.service.addressBook()).hosts().some(({ member }) => member))
        return;
      made.collector = collector;
      (await collector()).start();
    },
  };
}
