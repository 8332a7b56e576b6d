/**
 * What clients without a token can cost: a server with 3,000 connections that ask for its largest asset and never read.
 */
import { join } from "node:path";
import {
  type Figure,
  healthDuring,
  mebibytes,
  p99,
  residentBytes,
  startSvc,
  temporaryFolder,
} from "./support";

const READERS = 3_000;
const ALLOWED_BYTES = 64 * 1_048_576;
const HEALTH_P99_MS = 50;
/** How long the readers are looked at: within the ten seconds that they are kept. */
const OBSERVED_MS = 5_000;

export async function bench(): Promise<Figure[]> {
  return await slowReaders();
}

async function slowReaders(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await using svc = await startSvc(folder.path);
  const asset = `${svc.url}/docs/swagger-ui-bundle.js`;
  // What the first answer needs is not what the readers cost.
  await (await fetch(asset, { headers: { "accept-encoding": "identity" } })).arrayBuffer();
  const before = residentBytes(svc.pid);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentBytes(svc.pid));
  }, 50);
  const program = join(import.meta.dir, "programs", "readers.ts");
  const readers = Bun.spawn([process.execPath, program, asset, String(READERS)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const opened = readers.stdout.getReader().read();
  const times = await healthDuring(
    svc,
    opened.then(() => Bun.sleep(OBSERVED_MS)),
  );
  clearInterval(watch);
  readers.kill();
  await readers.exited;
  return [
    {
      name: `memory for ${READERS} readers that never read, of 1.4 MB each`,
      ratio: (most - before) / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(most - before)} more / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
    {
      name: "p99 of /health under these readers",
      ratio: p99(times) / HEALTH_P99_MS,
      goal: "<= 1",
      detail: `${p99(times).toFixed(1)} / ${HEALTH_P99_MS} ms over ${times.length} requests`,
    },
  ];
}
