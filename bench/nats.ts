/**
 * A fleet behind a NATS server: 50,000 simulated hosts over one connection, which a desk asks and for which it runs a plan, and 18,000
 * over a connection each, with the rights that `svc nats` gives. Without nats-server there are no figures.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addDesk, newOperator, serverTokens } from "../src/desk/nats/operator";
import { type NKey, newNKey, nkey } from "../src/wire/nats/nkeys";
import { userToken } from "../src/wire/nats/tokens";
import { ask, askAndPlan, memoryOf, program, seconds, startNats, untilUp } from "./programs/nats-support";
import { check, type Figure, median, residentBytes, startServer, temporaryFolder } from "./support";

const ONE = { hosts: 50_000, askMs: 1_000, planMs: 8_000, bytes: 256 * 1_048_576 };
const EACH = { hosts: 18_000, upMs: 30_000, askMs: 1_000, bytes: 64 * 1_024 };
const SEED = "nats";

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux" || Bun.which("nats-server") === null) return [];
  return [...(await oneConnection()), ...(await connectionEach())];
}

async function oneConnection(): Promise<Figure[]> {
  const found = await askAndPlan(ONE.hosts, 1, SEED);
  const { askMs, about, planMs, bareMs } = found;
  return [
    {
      name: "50,000 hosts behind a NATS server are asked over one connection, 5,000 of them are off",
      ratio: askMs / ONE.askMs,
      goal: "<= 1",
      detail: `${seconds(askMs)} / ${seconds(ONE.askMs)} allowed; ${about}`,
    },
    {
      name: "a plan for them",
      ratio: planMs / ONE.planMs,
      goal: "<= 1",
      detail: `${seconds(planMs)} / ${seconds(ONE.planMs)} allowed; a bare loop: ${seconds(bareMs)}`,
    },
    {
      name: "peak memory of the desk",
      ...memoryOf(found, ONE.bytes),
    },
  ];
}

async function connectionEach(): Promise<Figure[]> {
  const keys = { ...newOperator(""), server: { urls: [] } };
  const { part } = addDesk(keys, "bench", true);
  const { operator, accounts } = serverTokens("bench", keys);
  await using server = await startNats(
    `operator: ${operator}`,
    `system_account: ${keys.system_account}`,
    "resolver: MEMORY",
    `resolver_preload: { ${Object.entries(accounts)
      .map((one) => one.join(": "))
      .join(", ")} }`,
  );
  const signer = nkey(keys.host_signer);
  const users = Array.from({ length: EACH.hosts }, () => newNKey("U")).map(({ id, seed }: NKey) => ({
    id,
    seed,
    jwt: userToken("host", id, signer, keys.account),
  }));
  using folder = temporaryFolder();
  const file = join(folder.path, "users.json");
  writeFileSync(file, JSON.stringify(users));
  const before = residentBytes(server.pid);
  const flags = ["--carrier", "nats", "--hosts", `${EACH.hosts}`, "--seed", SEED, "--users", file];
  const started = performance.now();
  await using hosts = await startServer([process.execPath, program("sim"), ...flags, "--hub", server.url]);
  await untilUp(EACH.hosts, hosts.url);
  const upMs = performance.now() - started;
  const ids = users.map(({ id }) => id);
  const { rounds, about } = await ask(server.url, ids, {
    DESK_NATS_SEED: part.desk.seed,
    DESK_NATS_JWT: part.desk.jwt,
  });
  for (const { answered } of rounds) check("the hosts that answered", { answered }, { answered: EACH.hosts });
  const askMs = median(rounds.map(({ ms }) => ms));
  const bytesEach = (residentBytes(server.pid) - before) / EACH.hosts;
  return [
    {
      name: "18,000 hosts connect to a NATS server",
      ratio: upMs / EACH.upMs,
      goal: "<= 1",
      detail: `${seconds(upMs)} / ${seconds(EACH.upMs)} allowed`,
    },
    {
      name: "all 18,000 are asked and have answered",
      ratio: askMs / EACH.askMs,
      goal: "<= 1",
      detail: `${seconds(askMs)} / ${seconds(EACH.askMs)} allowed; ${about}`,
    },
    {
      name: "memory of the NATS server for a host, after that",
      ratio: bytesEach / EACH.bytes,
      goal: "<= 1",
      detail: `${kibibytes(bytesEach)} / ${kibibytes(EACH.bytes)} allowed`,
    },
  ];
}

const kibibytes = (bytes: number) => `${(bytes / 1_024).toFixed(1)} KiB`;
