/**
 * Kills of a host at any moment while a desk looks at its audit log, and a clock of the host that jumps: no false alarm, and no row
 * is lost that was acknowledged. In CI fifty kills, elsewhere twenty; `bun run soak` has a thousand (SVC_SOAK_KILLS says otherwise).
 *
 * After how many answers the host is killed, and how its clock jumps, follows from a seed, which is printed; SVC_SOAK_SEED replays
 * it.
 */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../bench/programs/sim-seed";
import { type Host, serverOf } from "../../src/desk/fleet/host";
import { createCollector } from "../../src/desk/witness/collector";
import { openSigningKey } from "../../src/lib/signing-key";
import { openStore } from "../../src/wire/witness/store";
import { createWitness } from "../../src/wire/witness/witness";
import { joinDesk, verifyRow } from "../desk/witness/support";
import { isThorough, TOKEN, testWith, until } from "../support";
import { installHost } from "./host";

const KILLS = Number(process.env.SVC_SOAK_KILLS ?? (isThorough ? 50 : 20));
const SEED =
  process.env.SVC_SOAK_SEED ?? (KILLS <= 50 ? "witness" : `${Math.floor(Math.random() * 2 ** 32)}`);

const [FAKETIME = "faketime"] = new Bun.Glob("/usr/lib/*/faketime/libfaketime.so.1").scanSync("/");

/** How far off the clock of the host is. */
const JUMPS = ["+0", "+0", "-3h", "+2d", "-20s", "+400d"];

/** The desk of one host, and what it found worse than a host that is away. */
function deskOf({ path: folder, configDir }: { path: string; configDir: string }) {
  const host = { label: "host", base_url: "http://127.0.0.1:1", token: TOKEN, tags: [] };
  const member = { host_id: "0".repeat(32), host_key: "key", nonce: "N".repeat(22) };
  const store = openStore(join(folder, "desk.db"));
  const witness = createWitness({ store, key: openSigningKey(join(folder, "desk_witness")) });
  const alarms: unknown[] = [];
  const deskKey = openSigningKey(join(folder, "desk_key"));
  joinDesk(configDir, deskKey, member);
  const collector = createCollector<Host>({
    ...{ store, witness, deskKey, verifyRow, log: { warn() {} } },
    book: { hosts: () => [{ ...host, member }], reach: serverOf },
    publish(_type, data) {
      const found = JSON.stringify(data);
      if (/"state":"(shrank|forked|key_changed)"|no row of/.test(found)) alarms.push(data);
    },
  });
  return {
    host,
    alarms,
    look: () => collector.lookNow("host"),
    evidence: (origin: string) => store.evidence(origin),
    [Symbol.dispose]() {
      collector.stop();
      store.close();
    },
  };
}

testWith(FAKETIME)(
  "a host that is killed at random under the eyes of its desk raises no alarm, whatever its clock does, and loses no row",
  async () => {
    console.info(`kills under a witness: ${KILLS} with the seed ${SEED}`);
    const random = seeded(SEED, "witness");
    const below = (most: number) => Math.floor(random() * most);
    using host = installHost();
    using desk = deskOf(host);
    const clock = join(host.path, "clock");
    const jump = () => writeFileSync(clock, JUMPS[below(JUMPS.length)] ?? "+0");
    const env = {
      ...{ LD_PRELOAD: FAKETIME, FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1" },
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
    let looks = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      jump();
      await using server = await host.serve({ env });
      desk.host.base_url = server.url;
      const [writers, last, jumpAt] = [below(4), 1 + below(60), below(60)];
      let answers = 0;
      const answered = () => {
        answers++;
        if (answers === jumpAt) jump();
        if (answers === last) process.kill(server.pid, "SIGKILL");
      };
      const write = async () => {
        while (answers < last) {
          try {
            expect(await server.run()).toBe(200);
            answered();
          } catch (error) {
            if (answers < last) throw error;
          }
        }
      };
      const watch = async () => {
        while (answers < last) {
          const { size, seen } = await desk.look();
          if (seen !== null && size > 0) looks++;
          answered();
        }
      };
      await Promise.all([watch(), ...Array.from({ length: writers }, write)]);
      await server.exited;
      expect({ seed: SEED, kill, alarms: desk.alarms }).toEqual({ seed: SEED, kill, alarms: [] });
      if (kill % 50 === 49) console.info(`kills under a witness: ${kill + 1} of ${KILLS}, ${looks} looks`);
    }
    await using server = await host.serve();
    desk.host.base_url = server.url;
    const { origin } = await until("a good look", async () => {
      const record = await desk.look();
      return record.state === "ok" && record;
    });
    expect([desk.alarms, desk.evidence(origin ?? "")]).toEqual([[], []]);
    expect(await (await server.call("/audit/verify?witnessed=true")).json()).toMatchObject({ ok: true });
    console.info(`kills under a witness: ${looks} looks, ${host.acknowledged()} changes acknowledged`);
    await host.expectNothingLost();
  },
  (KILLS * 20 + 300) * 1_000,
);
