/**
 * This host: its settings and bundles, what its checks say, its devices, tokens and daemons, and what waits for a person.
 */
import type { Approvals } from "../../approvals/approvals";
import type { BundleMergers, BundleReaders } from "../../config/bundle";
import type { Settings } from "../../config/settings";
import type { Diagnostics } from "../../diagnostics/diagnostics";
import type { Readers as DeskReaders } from "../../join/desk-bundle";
import { findRunningServer } from "../../lib/running-server";
import type { Daemon } from "../../release/upgrade";
import type { TokenList } from "../../trust/token-list";
import type { Usb } from "../../usb/usb";
import type { Shared } from "../shared";

/** What a process has of its host. */
export interface HostFeatures {
  settings(): Promise<Settings>;
  /** What checks that files of a bundle would load here. */
  bundleReaders(): Promise<BundleReaders>;
  /** What would not load of the files of a desk (`svc desk import`). */
  deskReaders(): Promise<DeskReaders>;
  /** What merges files of a bundle with those that are here. */
  bundleMergers(): Promise<BundleMergers>;
  diagnostics(): Promise<Diagnostics>;
  usb(): Promise<Usb>;
  /** The named tokens, and when tokens were used last. */
  tokens(): Promise<TokenList>;
  /** The daemons that run a program. @param binary absolute, without links. */
  daemonsRunning(binary: string): Promise<readonly Daemon[]>;
  /** What waits for the yes of a person. Beside a server, `ask` asks there. */
  approvals(): Promise<Approvals>;
}

export function hostFeatures(shared: Shared): HostFeatures {
  const { configDir, files, options, log, publish, observed, feature, stoppable } = shared;
  return {
    settings: feature(async () => {
      const [{ createSettings }, { CHECK_NAMES }] = await Promise.all([
        import("../../config/settings"),
        import("../../diagnostics/checks"),
      ]);
      const paths = { file: files.settings, lock: files.importLock };
      return createSettings(paths, { "diagnose.skip": CHECK_NAMES });
    }),
    async bundleReaders() {
      const [{ addressBookFaults }, { identityFaults }, { settingsFaults }, { trustedFaults }] =
        await Promise.all([
          import("../../fleet/address-book"),
          import("../../peers/identity"),
          import("../../config/settings"),
          import("../../desktop/screen/trusted"),
        ]);
      const ids = { remote_host_id: identityFaults, viewer_id: identityFaults };
      return {
        "admin_hosts.json": addressBookFaults,
        "host_service.json": settingsFaults,
        "trusted_viewers.json": trustedFaults,
        ...ids,
      };
    },
    async deskReaders() {
      const [{ addressBookFaults }, { deskPartFaults }, { operatorFaults }] = await Promise.all([
        import("../../fleet/address-book"),
        import("../../nats/desk-part"),
        import("../../nats/operator"),
      ]);
      return {
        "admin_hosts.json": addressBookFaults,
        "nats.json": deskPartFaults,
        "nats_operator.json": operatorFaults,
      };
    },
    bundleMergers: async () => ({
      "admin_hosts.json": (await import("../../fleet/address-book")).mergeAddressBooks,
    }),
    diagnostics: feature(async () => {
      const [{ createDiagnostics }, { loadChecks }] = await Promise.all([
        import("../../diagnostics/diagnostics"),
        import("../../diagnostics/checks"),
      ]);
      return createDiagnostics(shared.service, await loadChecks(), observed);
    }),
    usb: stoppable(async () => {
      const { createUsb } = await import("../../usb/usb");
      return createUsb({ log, mask_serials: options.mask_serials, publish: observed });
    }),
    tokens: feature(async () => (await import("../../trust/token-list")).createTokenList(files, log)),
    daemonsRunning: async (binary) => (await import("../daemons")).daemonsRunning(binary),
    approvals: feature(async () => {
      const { createApprovals } = await import("../../approvals/approvals");
      const approvals = createApprovals({
        publish,
        async record(detail) {
          const row = { event_type: "approval", host_id: null, viewer_id: null, detail };
          await (await shared.service.audit())?.append(row);
        },
      });
      const ask: typeof approvals.ask = async (question) => {
        if (findRunningServer(configDir)?.pid === process.pid) return approvals.ask(question);
        return (await import("../../approvals/elsewhere")).askServer(configDir, question);
      };
      return { ...approvals, ask };
    }),
  };
}
