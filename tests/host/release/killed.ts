/** Run by `upgrade.test.ts`: an upgrade whose daemon is never ready, and whose process is killed after a step. */
import { type UpgradeOptions, upgrade } from "../../../src/host/release/upgrade";

const { binary, file, key, step } = JSON.parse(process.env.KILLED ?? "");
const seen = new Map<string, number>();
let pid = 1;

const options: UpgradeOptions = {
  ...{ binary, version: "0.1.0", target: "linux-x64", id: "one", key, allowDowngrade: false, readyMs: 0 },
  daemons: [
    {
      name: "the daemon",
      mayRestart: true,
      byRoot: false,
      startApart: async () => {},
      answering: () => pid,
      endsThis: () => false,
      requireReadable() {},
      async restart() {
        pid += 1;
      },
      isReady: async (_pid, version) => version === "0.1.0",
    },
  ],
  announce: async () => {},
  requireReadable() {},
  after(name) {
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    if (step === (times > 1 ? `${name} ${times}` : name)) process.kill(process.pid, "SIGKILL");
  },
};
await upgrade({ file, signature: `${file}.minisig` }, options);
