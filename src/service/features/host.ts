/**
 * This host: its settings and bundles, what its checks say, its devices, tokens and daemons, and what waits for a person.
 */

import type { Database } from "bun:sqlite";
import { localCaller } from "../../core/caller";
import type { TakeOverParts } from "../../desk/join/become-desk";
import type { Approvals } from "../../host/approvals/approvals";
import type { BundleMergers, BundleReaders, KeptParts } from "../../host/config/bundle";
import type { Settings } from "../../host/config/settings";
import type { Diagnostics } from "../../host/diagnostics/diagnostics";
import type { Daemon } from "../../host/release/upgrade";
import type { HostSecrets } from "../../host/secrets/secrets";
import type { HostState } from "../../host/state/state";
import type { Usb } from "../../host/usb/usb";
import type { TokenList } from "../../trust/token-list";
import type { FileFault } from "../file-faults";
import type { ServiceParts } from "../parts";

/** What a process has of its host. */
export interface HostFeatures {
  settings(): Promise<Settings>;
  /** The files of a bundle that are kept in another form here. */
  bundleParts(): Promise<KeptParts>;
  /** What checks that files of a bundle would load here. */
  bundleReaders(): Promise<BundleReaders>;
  /** How the parts of a desk are read and put in place (`svc desk import`). */
  deskParts(): Promise<TakeOverParts>;
  /** What has to be so before the databases of a desk leave (`svc desk export`). */
  deskDepartures(): Promise<{ readonly "plans.db": (copy: Database) => void }>;
  /** What merges files of a bundle with those that are here. */
  bundleMergers(): Promise<BundleMergers>;
  diagnostics(): Promise<Diagnostics>;
  /** What the checks found last; begins those that are due, and waits for none. */
  checkResults(): Promise<ReturnType<Diagnostics["last"]>>;
  /** What is wrong with the files on which trust rests. */
  fileFaults(): Promise<readonly FileFault[]>;
  usb(): Promise<Usb>;
  /** The state of this host as files of desks describe it. */
  hostState(): Promise<HostState>;
  /** What scripts name as `${secret:…}`. */
  secrets(): Promise<HostSecrets>;
  /** The named tokens, and when tokens were used last. */
  tokens(): Promise<TokenList>;
  /** The daemons that run a program. @param binary absolute, without links. */
  daemonsRunning(binary: string): Promise<readonly Daemon[]>;
  /** What waits for the yes of a person. Beside a server, `ask` asks there. */
  approvals(): Promise<Approvals>;
}

export function hostFeatures(shared: ServiceParts): HostFeatures {
  const { configDir, files, options, log, publish, observed, phase, feature, stoppable } = shared;
  let ownChecks: (() => Promise<ReturnType<Diagnostics["last"]>>) | undefined;
  return {
    settings: feature(async () => {
      const [{ createSettings }, { CHECK_NAMES }, { SCREENS }] = await Promise.all([
        import("../../host/config/settings"),
        import("../../host/diagnostics/checks"),
        import("../../host/diagnostics/no-screen"),
      ]);
      const paths = { file: files.settings, lock: files.adminLock };
      return createSettings(paths, { "desktop.screen": SCREENS, "diagnose.skip": CHECK_NAMES });
    }),
    bundleParts: () => bundleParts(shared),
    async bundleReaders() {
      const [{ addressBookFaults }, { identityFaults }, { settingsFaults }, { trustedFaults }] =
        await Promise.all([
          import("../../desk/fleet/address-book"),
          import("../../host/peers/identity"),
          import("../../host/config/settings"),
          import("../../host/desktop/screen/trusted-viewers"),
        ]);
      const ids = { remote_host_id: identityFaults, viewer_id: identityFaults };
      return {
        "admin_hosts.json": addressBookFaults,
        "host_service.json": settingsFaults,
        "trusted_viewers.json": trustedFaults,
        ...ids,
      };
    },
    deskParts: () => deskParts(shared),
    deskDepartures: async () => ({ "plans.db": (await import("../../desk/plans/move")).requireNoneRuns }),
    bundleMergers: async () => ({
      "admin_hosts.json": (await import("../../desk/fleet/address-book")).mergeAddressBooks,
    }),
    diagnostics: feature(async () => {
      const [{ createDiagnostics }, { loadChecks }] = await Promise.all([
        import("../../host/diagnostics/diagnostics"),
        import("../../host/diagnostics/checks"),
      ]);
      return createDiagnostics(shared.service, await loadChecks(), observed);
    }),
    async checkResults() {
      ownChecks ??= (await import("../../host/diagnostics/own-checks")).createOwnChecks(shared.service, () =>
        localCaller(shared.service, "api"),
      );
      return ownChecks();
    },
    async fileFaults() {
      const { fileFaults } = await import("../file-faults");
      return fileFaults(configDir, async () => (await shared.service.addressBook()).hosts());
    },
    usb: stoppable(async () => {
      const { createUsb } = await import("../../host/usb/usb");
      return createUsb({ log, mask_serials: options.mask_serials, publish: observed });
    }),
    hostState: feature(() => openHostState(shared)),
    secrets: feature(() => openSecrets(shared)),
    tokens: feature(async () => (await import("../../trust/token-list")).createTokenList(files, log)),
    daemonsRunning: async (binary) => (await import("../daemons")).daemonsRunning(binary),
    approvals: feature(async () => {
      const { createApprovals } = await import("../../host/approvals/approvals");
      const approvals = createApprovals({
        publish,
        async record(detail) {
          await (await shared.service.audit())?.log("approval", { detail });
        },
      });
      const ask: typeof approvals.ask = async (question) => {
        if (phase.isClaimed) return approvals.ask(question);
        return (await import("../../host/approvals/elsewhere")).askServer(configDir, question);
      };
      return { ...approvals, ask };
    }),
  };
}

async function bundleParts({ service }: ServiceParts): Promise<KeptParts> {
  const { content, replaceAll } = await service.addressBook();
  return { "admin_hosts.json": { content, replace: replaceAll } };
}

/** How the parts of a desk are read and put in place. */
async function deskParts({ service }: ServiceParts): Promise<TakeOverParts> {
  const here = await service.addressBook();
  const [{ deskReaders }, plans, witness] = await Promise.all([
    import("../desk-readers"),
    import("../../desk/plans/move"),
    import("../../desk/witness/move"),
  ]);
  return {
    readers: await deskReaders(),
    arrivals: { "plans.db": plans.pauseAll, "witness.db": witness.keepVerdicts },
    plansTakenOver: plans.settleTakenOver,
    replaceBook: here.replaceAll,
  };
}

async function openSecrets({ files, log }: ServiceParts): Promise<HostSecrets> {
  const { createSecrets } = await import("../../host/secrets/secrets");
  const { secrets: file, secretsLock: lock, secretsKey: key } = files;
  return createSecrets({ file, lock, key }, log, process.env.CREDENTIALS_DIRECTORY);
}

/** The state of this host as files of desks describe it. */
async function openHostState({ service, files }: ServiceParts): Promise<HostState> {
  const [{ createHostState }, { createKeptStates }, { stateParts }] = await Promise.all([
    import("../../host/state/state"),
    import("../../host/state/kept"),
    import("../host-state"),
  ]);
  const kept = createKeptStates(files.states);
  return createHostState(
    () => stateParts(service),
    kept,
    () => new Date().toISOString(),
  );
}
