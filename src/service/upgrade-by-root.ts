/**
 * The process of root that upgrades a daemon of the machine once that has written its order: `svc-upgrade.service` starts it.
 */
import { isUpgradedByRoot } from "../host/daemon/systemd";
import { carryOutByRoot } from "../host/release/by-root";
import type { Daemon } from "../host/release/upgrade";
import { conflict, unavailable } from "../lib/errors";
import { requireKnownFormat } from "../lib/format";
import { configFiles } from "../lib/paths";
import { isOfRootAlone } from "../lib/root-alone";
import { runProgram } from "../lib/run-program";
import { printedBy } from "../lib/spawn";
import { programPath, target, version } from "../version";
import { verifyingKey } from "../wire/release/key";

/** How long systemctl may take, in milliseconds. */
const ASKED_MS = 20_000;

/** @param args the folder in which the daemon keeps its state. */
export default async function upgradeByRoot([configDir = ""]: readonly string[]): Promise<void> {
  const binary = programPath();
  const requireReadable: Daemon["requireReadable"] = (reader) => requireKnownFormat(configDir, reader);
  // As when the unit was installed.
  const may = () => isUpgradedByRoot(binary) && isOfRootAlone(binary);
  await carryOutByRoot(configFiles(configDir).upgrade, binary, may, async () => {
    const key = verifyingKey(undefined);
    if (key === null) throw unavailable("this svc has no release key");
    // Without it, nothing would be started anew, nor looked at afterwards.
    if (answering() === null) throw unavailable("systemd does not say that the daemon of the machine runs");
    const daemon = { ...(await daemonOfMachine(binary)), requireReadable };
    return { version, target, key, daemons: [daemon], requireReadable };
  });
}

/** The daemon of the machine as systemd knows it: its own files may say anything. */
async function daemonOfMachine(binary: string): Promise<Omit<Daemon, "requireReadable">> {
  const { daemonsOf } = await import("../host/daemon/installed-daemons");
  const [own] = daemonsOf(binary).filter(({ user }) => user === null);
  if (!own) throw conflict(`the daemon of the machine does not run ${binary}`);
  return {
    name: "the daemon of the machine",
    mayRestart: true,
    byRoot: false,
    answering,
    endsThis: () => false,
    async restart() {
      for (const line of own.restart) await runProgram(line, ASKED_MS);
    },
    async startApart() {
      throw unavailable("root starts nothing apart");
    },
    // The program in place is what was verified. Its unit is active once it has said that it answers (Type=notify).
    async isReady(pid) {
      const now = answering();
      return now !== null && now !== pid;
    },
  };
}

/** The main process of the unit, once that has said that it answers. */
function answering(): number | null {
  const line = ["systemctl", "show", "svc.service", "--property=ActiveState,MainPID"];
  const printed = printedBy(line, ASKED_MS);
  const [, pid = "0"] = /^MainPID=(\d+)$/m.exec(printed) ?? [];
  return /^ActiveState=active$/m.test(printed) && pid !== "0" ? Number(pid) : null;
}
