/** A load on a server: every endpoint of its document, at a rate or as fast as it goes, and what came of it. */
import * as v from "valibot";
import { messageOf, systemCode } from "../../src/lib/errors";
import { post } from "../support";

const DOCUMENT = v.object({ paths: v.record(v.string(), v.record(v.string(), v.unknown())) });

/** What starts a process or takes long: one of these comes to so many of the others. */
const HEAVY = new Set(["/audit/verify", "/diagnose", "/screenshot", "/usb/devices"]);
const LIGHT_PER_HEAVY = 100;

/** Values for the parameters of paths. */
const NAMES = { name: "AC_sleep", run_id: "none", asset: "main.js" } as const;

/** Bodies that do something; a POST that is not here is sent `{}`, which most refuse. */
const BODIES: Readonly<Record<string, (nth: number) => unknown>> = {
  "/execute": (nth) => ({
    actions: [
      ["AC_set_var", { name: "nth", value: nth }],
      ["AC_loop", { times: 3, body: [["AC_set_var", { name: "text", value: "${nth} \u{1f600}" }]] }],
      ["AC_try", { body: [["AC_retry", { max_attempts: 2, backoff: 0, body: [["AC_break"]] }]], catch: [] }],
      ["AC_get_mouse_position"],
    ],
  }),
  "/execute/check": (nth) => ({ actions: [["AC_nothing", { nth }]] }),
  "/inspector/samples": (nth) => ({ samples: [{ rtt_ms: nth % 200, fps: 30 }] }),
  "/config/import": () => ({
    manifest: { version: 1 },
    files: { viewer_id: { format: "text", content: "me" } },
  }),
  "/jobs/add": (nth) => ({
    job_id: `job-${nth % 50}`,
    script_path: "/nonexistent.json",
    interval_seconds: 3_600,
  }),
  "/jobs/remove": (nth) => ({ job_id: `job-${nth % 50}` }),
};

/** Requests whose answers would stay open ask for what is there already. */
const QUERIES: Readonly<Record<string, string>> = { "/events": "?wait=0" };

export interface Load {
  /** Asks for one thing after the other, all of them in turn. */
  readonly requests: ReadonlyArray<(nth: number) => readonly [path: string, init: RequestInit]>;
}

/** What came of a load so far. */
export interface Progress {
  /** Answers by status. */
  readonly tally: ReadonlyMap<number, number>;
  /** Requests begun a second. */
  readonly rate: number;
  /** Requests that were asked again, because their connection ended before an answer. */
  readonly again: number;
}

/** Every endpoint of the server behind `call`, the heavy ones seldom. */
export async function everyEndpoint(call: (path: string) => Promise<Response>): Promise<Load> {
  const { paths } = v.parse(DOCUMENT, await (await call("/openapi.json")).json());
  const requests = Object.entries(paths).flatMap(([template, methods]) =>
    Object.keys(methods).map((method) => {
      const names: Readonly<Record<string, string>> = NAMES;
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => names[name] ?? "none");
      const body = BODIES[path] ?? (() => ({}));
      const request = (nth: number) =>
        [`${path}${QUERIES[path] ?? ""}`, method === "post" ? post(body(nth)) : {}] as const;
      return { request, heavy: HEAVY.has(path) };
    }),
  );
  const light = requests.filter(({ heavy }) => !heavy);
  const mixed = requests
    .filter(({ heavy }) => heavy)
    .flatMap((one, nth) => [
      one,
      ...Array.from(
        { length: LIGHT_PER_HEAVY },
        (_, at) => light[(nth * LIGHT_PER_HEAVY + at) % light.length],
      ),
    ]);
  return { requests: [...light, ...mixed].flatMap((each) => (each ? [each.request] : [])) };
}

/** What a stall of this machine has kept from being begun is made up for at no more than so many times the rate. */
const CATCH_UP = 1.5;
/** As much of it as may be begun at once, in seconds of the rate. */
const BURST_SECONDS = 0.1;

/**
 * Puts `load` on the server behind `call` for so long.
 *
 * @param options.ratePerSecond requests begun a second, whether or not the earlier ones are answered; 0: eight at a time,
 *   each as soon as one is answered.
 * @param options.everyMinute called with the progress.
 * @param failed called for each answer that is the server's fault; with status 0 when none came.
 */
export async function run(
  { requests }: Load,
  call: (path: string, init: RequestInit) => Promise<Response>,
  {
    seconds,
    ratePerSecond,
    everyMinute = () => {},
  }: { seconds: number; ratePerSecond: number; everyMinute?: (progress: Progress) => void },
  failed: (path: string, status: number, body: string) => void,
): Promise<Progress> {
  const tally = new Map<number, number>();
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1_000;
  let begun = 0;
  let again = 0;
  const progress = () => ({ tally, rate: begun / elapsed(), again });
  const reporting = setInterval(() => everyMinute(progress()), 60_000);
  const ask = async () => {
    const nth = begun++;
    const request = requests[nth % requests.length];
    if (!request) return;
    const [path, init] = request(nth);
    try {
      const response = await call(path, init).catch((error) => {
        // An idle connection may end as a request is put on it (RFC 9112 section 9.5). Of a GET, fetch sees to it itself.
        if (systemCode(error) !== "ECONNRESET") throw error;
        again++;
        // On a connection of its own: those that a burst has opened end their idle time together.
        return call(path, { ...init, keepalive: false });
      });
      const body = await response.text();
      tally.set(response.status, (tally.get(response.status) ?? 0) + 1);
      if (response.status >= 500) failed(path, response.status, body);
    } catch (error) {
      failed(path, 0, messageOf(error));
    }
  };
  if (ratePerSecond === 0) {
    const client = async () => {
      while (elapsed() < seconds) await ask();
    };
    await Promise.all(Array.from({ length: 8 }, client));
  } else {
    const open = new Set<Promise<void>>();
    let allowed = 0;
    for (let before = 0, now = 0; now < seconds; before = now, now = elapsed()) {
      allowed += (now - before) * ratePerSecond * CATCH_UP;
      allowed = Math.min(allowed, Math.max(1, BURST_SECONDS * ratePerSecond));
      for (; allowed >= 1 && begun < now * ratePerSecond; allowed--) {
        const asked = ask().finally(() => open.delete(asked));
        open.add(asked);
      }
      await Bun.sleep(5);
    }
    await Promise.all(open);
  }
  clearInterval(reporting);
  return progress();
}
