/** Large bodies, and calls that end early, from another process of the desk: through its server, and over a real link. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { TOKEN, until } from "../../support";
import { joinDesk, linkServer, untilEvent, waits } from "./support";

const SOURCE_ROOT = join(import.meta.dir, "..", "..", "..", "src");

let desk: Awaited<ReturnType<typeof linkServer>>;
let host: Awaited<ReturnType<typeof linkServer>>;
let hostId = "";

beforeAll(async () => {
  desk = await linkServer(true);
  host = await linkServer(false);
  hostId = await joinDesk(desk, host);
  await desk.service.runJobs();
  await host.service.runJobs();
  await untilEvent(desk, "host.up");
});

afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await desk[Symbol.asyncDispose]();
});

/** Runs `code` in another process of the desk: `ask(request)` is its way to the host, and what it prints is read as JSON. */
function elsewhere(code: string) {
  const program = `
    import { createLinkWay } from "${SOURCE_ROOT}/desk/link/via";
    const way = createLinkWay({ configDir: process.env.SVC_CONFIG_DIR, hub: () => null });
    const carrier = await way.via("link:${hostId}");
    const ask = (request, ms = 60_000, maxBytes = 33_554_432) =>
      carrier.ask(request, { deadline: { at: performance.now() + ms, ms }, maxBytes }).catch(
        ({ fault, message, sent }) => ({ fault, message, sent }),
      );
    const text = ({ body }) => Buffer.from(body).toString();
    console.log(JSON.stringify(await (async () => { ${code} })()));
    process.exit();`;
  const env = { ...process.env, SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: TOKEN };
  const child = Bun.spawn([process.execPath, "-e", program], { env, stdio: ["ignore", "pipe", "inherit"] });
  return { child, answer: async (): Promise<unknown> => JSON.parse(await child.stdout.text()) };
}

test("20 MB come down, and go up", async () => {
  const down = elsewhere(`
    const answer = await ask({ method: "GET", path: "/echo?bytes=20000000" });
    return [answer.status, answer.body.length, answer.body.every((byte) => byte === 120)];`);
  expect(await down.answer()).toEqual([200, 20_000_000, true]);
  const up = elsewhere(`
    const body = JSON.stringify({ text: "é".repeat(10_000_000) });
    return text(await ask({ method: "POST", path: "/echo/count", body }));`);
  expect(await up.answer()).toBe('{"length":10000000}');
});

test("an answer that is larger than allowed, and a deadline that passes, have the words that they have over https", async () => {
  const large = elsewhere(`return ask({ method: "GET", path: "/echo?bytes=3000000" }, 60_000, 1_048_576);`);
  expect(await large.answer()).toMatchObject({ fault: "answer", message: "answer larger than 1 MiB" });
  const { gone } = waits;
  const late = elsewhere(`return ask({ method: "GET", path: "/echo/wait" }, 1_000);`);
  expect(await late.answer()).toEqual({ fault: "timeout", message: "timeout after 1 s", sent: true });
  await until("the host to end it", () => waits.gone > gone);
});

test("a process that ends in the middle ends its request on the host", async () => {
  const { begun, gone } = waits;
  const { child } = elsewhere(`return ask({ method: "GET", path: "/echo/wait" });`);
  await until("the request to be there", () => waits.begun > begun);
  child.kill("SIGINT");
  await until("the host to end it", () => waits.gone > gone);
});
