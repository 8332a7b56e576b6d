/** Desks that take links, and hosts that dial them. */
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { deadlineIn } from "../../../src/client/carrier";
import { field, whole } from "../../../src/core/fields";
import { type Operation, operation } from "../../../src/core/operation";
import type { RestServerOptions } from "../../../src/http/options";
import { configFiles } from "../../../src/lib/paths";
import { operations } from "../../../src/operations";
import type { Service } from "../../../src/service/service";
import { hostIdOf, openSigningKey } from "../../../src/trust/identity";
import { linkMessage } from "../../../src/wire/link/frames";
import { TOKEN, testService } from "../../support";
import { joinString, joinWith } from "../join/support";

/** What a host does for these tests: answers with so many bytes, says how many it got, and waits until nobody does. */
const echo = operation({
  name: "echo.get",
  summary: "Answer with bytes",
  scope: "read",
  http: { method: "GET", path: "/echo", content: "application/octet-stream" },
  input: v.strictObject({ bytes: field(whole(0, 100_000_000), "How many") }),
  output: v.instance(Response),
  run: (_service: object, { bytes }) =>
    new Response(Buffer.alloc(bytes, "x"), { headers: { "content-type": "application/octet-stream" } }),
});
const count = operation({
  name: "echo.count",
  summary: "Count bytes",
  scope: "read",
  http: { method: "POST", path: "/echo/count" },
  input: v.strictObject({ text: field(v.string(), "Text") }),
  output: v.object({ length: v.number() }),
  run: (_service: object, { text }) => ({ length: text.length }),
});
/** Ends once its caller has gone; says so by `gone`. */
export const waits = { begun: 0, gone: 0 };
const wait = operation({
  name: "echo.wait",
  summary: "Wait until nobody does",
  scope: "read",
  http: { method: "GET", path: "/echo/wait" },
  input: v.strictObject({}),
  output: v.object({}),
  async run(_service: object, _input, { signal }) {
    waits.begun += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    waits.gone += 1;
    return {};
  },
});

const table: readonly Operation[] = [...operations, echo, count, wait] as readonly Operation[];

/** A server with TLS on `127.0.0.1`; with `hub`, it takes links. */
export async function linkServer(hub: boolean, options: RestServerOptions = {}) {
  const made = testService({ hub, operations: table });
  const files = configFiles(made.configDir);
  const rest = await made.service.rest();
  const given = { port: 0, token: TOKEN, tls: true, rate_limit: 0, max_body: 40_000_000, ...options };
  const server = await rest.start(given);
  return { ...made, files, server };
}

export type LinkServer = Awaited<ReturnType<typeof linkServer>>;

/** Lets `host` join `desk`. */
export async function joinDesk(desk: LinkServer, host: LinkServer): Promise<string> {
  const { join_string } = await joinString(desk);
  return (await joinWith(host, join_string)).host_id;
}

/** The hub of a desk. */
export function hubOf({ service }: { readonly service: Service }) {
  const hub = service.hub();
  if (!hub) throw new Error("this desk has no hub");
  return hub;
}

/** A desk and a host that is linked to it. */
export async function linked() {
  const desk = await linkServer(true);
  const host = await linkServer(false);
  const host_id = await joinDesk(desk, host);
  await desk.service.runJobs();
  await host.service.runJobs();
  const up = await untilEvent(desk, "host.up");
  return {
    ...{ desk, host, host_id, up, hub: hubOf(desk) },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

/** Resolves once the service has published the nth event of that type since it was made, with its data. */
export async function untilEvent({ service }: { readonly service: Service }, type: string, nth = 1) {
  const bus = service.events();
  for (;;) {
    const all = Array.from({ length: bus.newest }, (_, index) => bus.at(index + 1));
    const found = all.filter((one) => one?.type.name === type)[nth - 1];
    if (found) return JSON.parse(found.text) as Record<string, unknown>;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = bus.listen(resolve);
    await promise;
    end();
  }
}

/** Resolves once `holds` does, which is asked again and again. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(10);
}

export const limits = (ms = 60_000) => ({ deadline: deadlineIn(ms), maxBytes: 64 * 1_048_576 });

export const get = (path: string) => ({ method: "GET", path }) as const;

/** A desk on plain http with one member, and that member's key. */
export async function plainHub(options: RestServerOptions = {}) {
  const desk = await linkServer(true, { tls: false, ...options });
  await desk.service.runJobs();
  const key = openSigningKey(`${desk.configDir}/member_key`);
  const host_id = hostIdOf(key.publicKey);
  const member = { host_id, host_key: key.publicKey, nonce: "n".repeat(22) };
  const book = await desk.service.addressBook();
  await book.add({ label: "member", base_url: `link:${host_id}`, tags: [], member });
  return { ...desk, key, host_id, hub: hubOf(desk) };
}

/** A WebSocket to the hub as a test speaks it. */
export async function rawLink(desk: { readonly server: { readonly url: string } }) {
  const socket = new WebSocket(`${desk.server.url.replace("http", "ws")}/link`, ["svc.link.v1"]);
  socket.binaryType = "arraybuffer";
  const frames: Array<Record<string, unknown>> = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  let wake = () => {};
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") frames.push(JSON.parse(data));
    wake();
  };
  socket.onclose = ({ code, reason }) => {
    closed.resolve({ code, reason });
    wake();
  };
  socket.onerror = () => {};
  const next = async (t: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const at = frames.findIndex((frame) => frame.t === t);
      const [found] = at < 0 ? [] : frames.splice(at, 1);
      if (found) return found;
      if (socket.readyState > WebSocket.OPEN) throw new Error(`closed before ${t}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    ...{ socket, next, closed: closed.promise },
    say: (frame: object) => socket.send(JSON.stringify(frame)),
    /** Proves to be the member. */
    async prove(key: { sign(message: string): string }, host_id: string, more: object = {}) {
      const { nonce } = await next("hello");
      const signature = key.sign(linkMessage(String(nonce), "", host_id));
      const about = { host_id, signature, process: "p", version: "1", yields: false, ...more };
      socket.send(JSON.stringify({ t: "host", ...about }));
      await next("ready");
    },
  };
}
