import { expect, test } from "bun:test";
import fc from "fast-check";
import { deadlineIn } from "../../src/client/carrier";
import { carrierTo } from "../../src/client/connection";
import { answerRoom, createIntake } from "../../src/client/intake";

/** Answers that come for a client, for which there is room for 100 bytes in all; from 10 on, one is large. */
function coming(lookMs?: number) {
  const intake = createIntake(100, 10, lookMs);
  const states = new Map<string, string>();
  const take = (name: string, client: string | null = "anna") => {
    const taking = intake(client);
    const begin = () =>
      taking.begin({
        pause: () => void states.set(name, "waits"),
        resume: () => void states.set(name, "comes"),
        giveUp: ({ message }) => void states.set(name, message),
      });
    begin();
    states.set(name, "comes");
    return Object.assign(taking, { beginAnew: begin });
  };
  return { states, take, stateOf: (name: string) => states.get(name) };
}

test("a large answer that finds no room waits until one before it has been handed over", () => {
  const { take, stateOf } = coming();
  const [first, second] = [take("first"), take("second")];
  first.add(40);
  second.add(20);
  expect(stateOf("second")).toBe("waits");
  first.complete();
  expect(stateOf("second")).toBe("waits");
  first[Symbol.dispose]();
  expect(stateOf("second")).toBe("comes");
});

test("the one that came first goes on without room, so that it ends", () => {
  const { take, stateOf } = coming();
  const [first, second] = [take("first"), take("second")];
  first.add(60);
  second.add(20);
  first.add(60);
  expect([stateOf("first"), stateOf("second")]).toEqual(["comes", "waits"]);
});

test("small answers come while large ones wait", () => {
  const { take, stateOf } = coming();
  take("first").add(40);
  take("second").add(40);
  take("small").add(5);
  expect([stateOf("second"), stateOf("small")]).toEqual(["waits", "comes"]);
});

test("a client leaves as much room as it has to others", () => {
  const { take, stateOf } = coming();
  take("first").add(30);
  take("second").add(30);
  take("third of another", "bert").add(10);
  take("fourth of another", "bert").add(10);
  expect([...new Set(["second", "third of another", "fourth of another"].map(stateOf))]).toEqual([
    "waits",
    "comes",
  ]);
});

test("an answer that begins anew counts anew, also where it failed while it waited", () => {
  const { take, stateOf } = coming();
  const [first, again] = [take("first"), take("again")];
  first.add(60);
  again.add(60);
  again.beginAnew();
  again.add(5);
  first.add(1);
  expect(again.waitedMs()).toBe(0);
  first[Symbol.dispose]();
  again.add(90);
  expect(stateOf("again")).not.toBe("given up");
  take("other", "bert").add(5);
  expect(stateOf("other")).toBe("comes");
});

test("an answer that hardly comes while others wait is given up, and what it had is free", async () => {
  const { take, stateOf } = coming(5);
  const [slow, next] = [take("slow"), take("next")];
  slow.add(60);
  next.add(20);
  expect(stateOf("next")).toBe("waits");
  while (stateOf("slow") === "comes") await Bun.sleep(1);
  expect([stateOf("slow"), stateOf("next")]).toEqual([
    "too slow an answer, while others wait for room",
    "comes",
  ]);
});

test("one that is complete is not given up, however long it is handed over", async () => {
  const { take, stateOf } = coming(1);
  const [first, next] = [take("first"), take("next")];
  first.add(60);
  first.complete();
  next.add(20);
  await Bun.sleep(20);
  expect([stateOf("first"), stateOf("next")]).toEqual(["comes", "waits"]);
  expect(next.waitedMs()).toBeGreaterThan(15);
});

test("in whatever order answers come and are handed over, all of them come whole, within the bound", () => {
  const [most, large, longest] = [100, 10, 40];
  const clients = [null, "anna", "bert"];
  const answers = fc.array(
    fc.record({ client: fc.constantFrom(...clients), size: fc.integer({ min: 1, max: longest }) }),
    { minLength: 1, maxLength: 30 },
  );
  const run = (those: ReadonlyArray<{ client: string | null; size: number }>, picks: readonly number[]) => {
    const intake = createIntake(most, large);
    const all = those.map(({ client, size }) => {
      const one = { taking: intake(client), left: size, held: 0, isPaused: false };
      one.taking.begin({
        pause() {
          one.isPaused = true;
        },
        resume() {
          one.isPaused = false;
        },
        giveUp() {},
      });
      return one;
    });
    const open = new Set(all);
    for (let step = 0; open.size > 0; step++) {
      const able = [...open].filter(({ left, isPaused }) => left === 0 || !isPaused);
      // Somebody can always go on.
      expect(able).not.toEqual([]);
      const one = able[(picks[step % picks.length] ?? 0) % able.length];
      if (!one) return;
      if (one.left === 0) {
        one.taking[Symbol.dispose]();
        one.held = 0;
        open.delete(one);
        continue;
      }
      const bytes = Math.min(one.left, 7);
      one.left -= bytes;
      one.held += bytes;
      one.taking.add(bytes);
      if (one.left === 0) one.taking.complete();
      const held = [...open].reduce((sum, { held }) => sum + (held < large && one.left === 0 ? 0 : held), 0);
      // Besides, the piece that each brings before it is paused.
      expect(held).toBeLessThanOrEqual(most + clients.length * longest + 7 * those.length);
    }
  };
  fc.assert(fc.property(answers, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), run));
});

test("40 hosts that answer at once with 7 MB each have not more than the room in memory, and none is lost", async () => {
  const [hosts, size] = [40, 7_000_000];
  // In a process of its own: what it has still to write does not count.
  const program = `const server = Bun.serve({ port: 0, fetch: () => new Response(Buffer.alloc(${size}, "x")) }); console.log(server.url.href)`;
  const server = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
  const { value } = await server.stdout.getReader().read();
  const url = Buffer.from(value ?? []).toString();
  const held = () => process.memoryUsage().arrayBuffers;
  Bun.gc(true);
  const before = held();
  const arrived: Array<() => void> = [];
  let [most, mostHeld, done] = [0, 0, 0];
  const ask = async () => {
    using room = answerRoom("hosts that send much");
    const from = { url: url.trim(), token: undefined, trust: { kind: "any" } } as const;
    using carrier = await carrierTo(from, undefined, null, 1, room);
    // Together, they take longer than this: who waits for room has more time.
    const limits = { deadline: deadlineIn(20_000), answerWithinMs: 3_000, maxBytes: 9 * 1_048_576 };
    const answer = await carrier.ask({ method: "POST", path: "/", body: "{}" }, limits);
    await new Promise<void>((resolve) => arrived.push(resolve));
    done++;
    return answer.body.length;
  };
  const all = Promise.all(Array.from({ length: hosts }, ask));
  while (done < hosts) {
    await Promise.race([Bun.sleep(120), all]);
    most = Math.max(most, arrived.length);
    mostHeld = Math.max(mostHeld, held() - before);
    arrived.shift()?.();
  }
  server.kill();
  expect(new Set(await all)).toEqual(new Set([size]));
  // Half of the room is 16 MiB: two whole answers and one more, besides parts of others.
  expect(most).toBeLessThanOrEqual(3);
  // With what of those before is not collected yet.
  expect(mostHeld).toBeLessThan(128 * 1_048_576);
}, 60_000);
