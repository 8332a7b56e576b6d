/** Readings of the host under svc: its checks, its clock, its disk, and until when its certificate is good. */
import { deadline } from "../lib/deadline";
import { openLibc } from "../lib/libc";
import type { Reading } from "./readings";

/** What is read of the host. */
export interface HostSources {
  readonly configDir: string;
  /** What the checks of `svc diagnose` found last, by name; begins those that are due, and waits for none. */
  checkResults(): Promise<ReadonlyMap<string, { readonly ok: boolean; readonly severity: string }>>;
}

/** How long a file server may take to say how much room it has, in milliseconds. */
const DISK_MS = 1_000;

/** `struct timex` of the C library on 64-bit Linux (adjtimex(2)): 208 bytes, and where its fields are. */
const TIMEX = { bytes: 208, offset: 8, status: 40 } as const;
const STATUS = { unsynchronized: 0x40, nanoseconds: 0x2000 } as const;

/** What the kernel knows of its clock. @throws where the platform does not say. */
function readClock(): { readonly offsetS: number; readonly isSynchronized: boolean } {
  if (process.platform !== "linux") throw new Error("only Linux says");
  const { adjtimex } = openLibc({ adjtimex: { args: ["ptr"], returns: "i32" } });
  const timex = Buffer.alloc(TIMEX.bytes);
  // Without modes, it reads.
  if (adjtimex(timex) < 0) throw new Error("the kernel does not say");
  const status = timex.readInt32LE(TIMEX.status);
  const unit = status & STATUS.nanoseconds ? 1e-9 : 1e-6;
  return {
    offsetS: Number(timex.readBigInt64LE(TIMEX.offset)) * unit,
    isSynchronized: (status & STATUS.unsynchronized) === 0,
  };
}

export const HOST: readonly Reading[] = [
  {
    name: "service_diagnose_checks",
    help: "Checks of svc diagnose by what they found last: ok, warn, error; absent before the first. Those that need no desktop run every ten minutes while somebody scrapes",
    labels: ["state"],
    async read(service) {
      const found = [...(await service.checkResults()).values()];
      if (found.length === 0) return [];
      const stateOf = ({ ok, severity }: (typeof found)[number]) =>
        ok ? (severity === "warn" ? "warn" : "ok") : "error";
      return ["ok", "warn", "error"].map((state) => ({
        labels: { state },
        value: found.filter((one) => stateOf(one) === state).length,
      }));
    },
  },
  {
    name: "service_clock_synchronized",
    help: "1 while the kernel says that its clock is set by time-keeping, else 0 (Linux; NaN elsewhere)",
    read: () => (readClock().isSynchronized ? 1 : 0),
  },
  {
    name: "service_clock_offset_seconds",
    help: "By how much time-keeping still has to set the clock (adjtimex; Linux); NaN where it is not set by time-keeping",
    read() {
      const { offsetS, isSynchronized } = readClock();
      return isSynchronized ? offsetS : Number.NaN;
    },
  },
  {
    name: "service_disk_free_bytes",
    help: "Bytes that svc may still write at its configuration folder; NaN where its disk does not answer",
    async read({ configDir }) {
      const { statfs } = await import("node:fs/promises");
      const late = () => new Error("the disk does not answer");
      const { bavail, bsize } = await deadline(statfs(configDir), { ms: DISK_MS, late });
      return bavail * bsize;
    },
  },
  {
    name: "service_certificate_expires_seconds",
    help: "Seconds until the certificate of the server ends, negative after that; NaN without TLS",
    async read(service) {
      const ends = (await service.rest()).server?.certificateEnds();
      return ends === undefined ? Number.NaN : (ends - Date.now()) / 1_000;
    },
  },
];
