/**
 * The black box of this host: what its screen has shown for the last while, kept by the desktop's child process and read by one of its own.
 *
 * Promise: off unless the server was started with it, and then bounded in time and bytes; paused by a person, it stays so until a person
 * lets it go on, also when svc starts anew; paused by a state of a desk, until such a one or a person does. A server that starts without it
 * records nothing, and what was kept before goes when its time is over.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Publish } from "../../../../core/events";
import { resolvesWithin, sleep } from "../../../../lib/deadline";
import { conflict, messageOf, notFound, unavailable } from "../../../../lib/errors";
import { ensurePrivateFolder, writeFileAtomic } from "../../../../lib/files";
import { orElse } from "../../../../lib/or-else";
import { printable } from "../../../../lib/sanitize";
import type { Requester } from "../../../../lib/slots";
import { timeText } from "../../../../lib/time-text";
import { valueIn } from "../../../../lib/value-in";
import type { KeptRun } from "../../../../wire/screen/black-box";
import type { BlackBoxCalls, BoxSettings } from "./calls";
import { boxKept, boxPaused, boxStarted } from "./events";
import { openBoxKey, readBoxKey } from "./key";
import type { BoxStatus } from "./operations";
import type { BoxReader } from "./reader";
import type { BoxPlace, FilmRequest, TextQuery } from "./reading-calls";
import { Retention, type RetentionParts } from "./retention";
import { newRunKey } from "./sealed-file";
import { keepSegments, keptRuns, segmentsIn } from "./segments";

/** How long is waited after the recorder has failed, at first and at most, in milliseconds. */
const [AGAIN_MS, LATEST_MS] = [5_000, 60_000];
/** How much of what was before a failure is kept, in milliseconds. */
const KEPT_MS = 300_000;
/** After this time without a failure it records, in milliseconds. */
const STARTED_MS = 3_000;

/** As `paused.json` has it. */
const PAUSE = v.object({
  /** The token that has paused it; null for the owner of the host. */
  token: v.nullable(v.string()),
  /** The state of a desk that wants it so. A person's pause, and a file of before, does not have it. */
  state: v.exactOptional(v.string()),
});

/** Who has paused it. */
type Pause = Readonly<v.InferOutput<typeof PAUSE>>;

/** What the black box needs of the service. */
interface BlackBoxParts extends RetentionParts {
  readonly keyFile: string;
  desktop(): Promise<BlackBoxCalls>;
  readonly reader: BoxReader;
  readonly publish: Publish;
  /** How long to wait after a failure, in milliseconds (default 5,000). */
  readonly againMs?: number;
}

/** What a run is by which the black box keeps what was before. */
type FailedRun = Pick<KeptRun, "run_id" | "source_type" | "source_id">;

/** The black box of this host. */
export class BlackBox {
  #keeping: Promise<void> | undefined;
  #isStopped = false;
  /** As it was paused in this process, whether or not that could be written down. */
  #held: Pause | undefined;
  #problem: string | null = null;
  #end = new AbortController();
  readonly #retention: Retention;

  constructor(private readonly parts: BlackBoxParts) {
    this.#retention = new Retention(parts);
  }

  /** Begins to record, unless it is paused or this process keeps none; again where it fails. */
  start(): void {
    const { folder, settings, log } = this.parts;
    const left = this.#retention.start();
    if (left !== null)
      log.info(
        `the black box is off (svc serve --black-box): nothing more is kept, and the last of what it had kept goes at ${timeText(left)}; to have it gone now, delete ${folder}`,
      );
    if (!settings) return;
    if (this.isPaused) log.info("the black box is paused: `svc black-box resume` lets it go on");
    else this.#begin(settings);
  }

  async status(): Promise<BoxStatus> {
    const { folder, settings } = this.parts;
    const live = this.#keeping && !this.#problem ? await this.#state() : null;
    const problem = this.#problem ?? live?.dark ?? null;
    const all = segmentsIn(folder);
    const isOn = this.#keeping !== undefined && problem === null;
    const state = isOn ? "on" : "waiting";
    const [oldest, newest] = [all.at(0)?.start, all.at(-1)?.end];
    const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
    return {
      state: settings ? (this.isPaused ? "paused" : state) : "off",
      problem,
      no_texts: live?.no_texts ?? null,
      span_s: settings ? settings.spanMs / 1_000 : null,
      max_bytes: settings?.maxBytes ?? null,
      excluded: settings?.exclude.length ?? 0,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      segments: all.length,
      kept: all.filter(({ isKept }) => isKept).length,
      oldest: iso(oldest),
      newest: iso(newest),
      until: this.#retention.until(all),
      not_told: live?.not_told ?? null,
    };
  }

  /**
   * A person takes over the pause of a state, and no state that of a person.
   *
   * @param token who pauses it; null for the owner of the host.
   * @param state the state of a desk that wants it so; absent for a person.
   * @throws `conflict` where this process keeps none; `unavailable`, with the black box paused, where that cannot be written down.
   */
  async pause(token: string | null, state?: string): Promise<void> {
    const { folder, publish } = this.parts;
    this.#requireSettings();
    const before = this.paused;
    const isTheirs = before !== undefined && (state !== undefined || before.state === undefined);
    if (isTheirs && existsSync(this.#pauseFile)) return;
    const pause: Pause = isTheirs ? before : { token, ...(state !== undefined && { state }) };
    this.#held = pause;
    // First: no disk that is full has it record on.
    const halted = this.#halt();
    const unwritten = failureOf(() => {
      ensurePrivateFolder(folder);
      writeFileAtomic(this.#pauseFile, JSON.stringify(pause));
    });
    await halted;
    publish(boxPaused, { token: pause.token });
    if (unwritten !== undefined)
      throw unavailable(
        `the black box is paused, but only until svc starts anew, as paused.json cannot be written (${unwritten}): pause it again once it can`,
      );
  }

  /** @throws `conflict` as {@link pause}; the system error where the pause cannot be removed. */
  resume(): void {
    const settings = this.#requireSettings();
    rmSync(this.#pauseFile, { force: true });
    this.#held = undefined;
    this.#begin(settings);
  }

  /** What the screen showed, as a PNG. @throws `not_found`. */
  async picture(at: number, requester: Requester) {
    return this.parts.reader.picture(await this.#place(), at, requester);
  }

  /** What was recorded, in milliseconds since 1970. */
  async spans(requester: Requester) {
    return this.parts.reader.spans(await this.#place(), requester);
  }

  /** @throws `not_found` where nothing is kept at all. */
  async find(query: TextQuery, requester: Requester) {
    return this.parts.reader.find(await this.#place(), query, requester);
  }

  /** Writes a film of a span. @throws `not_found`. */
  async film(request: FilmRequest, requester: Requester) {
    return this.parts.reader.film(await this.#place(), request, requester);
  }

  /** Keeps what was recorded before a run failed, also when it is too old. @param ended when that was, ISO 8601. */
  keepFor({ run_id, source_type, source_id }: FailedRun, ended: string): void {
    const { folder, settings, publish, log } = this.parts;
    const to = Date.parse(ended);
    if (!settings || Number.isNaN(to)) return;
    const from = new Date(to - KEPT_MS).toISOString();
    const run = { run_id, source_type, source_id, from, to: new Date(to).toISOString() };
    try {
      if (keepSegments(folder, run) > 0) publish(boxKept, run);
    } catch (error) {
      log.warn(`what was on the screen before a run failed is not kept: ${printable(messageOf(error), 500)}`);
    }
  }

  /** The runs for which something is kept, the newest first. */
  kept(): KeptRun[] {
    return keptRuns(this.parts.folder);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retention.stop();
    await this.#halt();
    await this.parts.reader.stop();
  }

  get #pauseFile(): string {
    return join(this.parts.folder, "paused.json");
  }

  get isPaused(): boolean {
    return this.#held !== undefined || existsSync(this.#pauseFile);
  }

  /** Who has paused it; undefined where it is not paused. What cannot be read of that is a pause of a person. */
  get paused(): Pause | undefined {
    if (this.#held || !this.isPaused) return this.#held;
    const text = orElse(() => readFileSync(this.#pauseFile, "utf8"), undefined);
    return valueIn(PAUSE, text) ?? { token: null };
  }

  #requireSettings(): BoxSettings {
    const { settings } = this.parts;
    if (!settings) throw conflict("the black box is off here (svc serve --black-box)");
    return settings;
  }

  /** What has been kept, up to now. @throws `not_found` where nothing has been. */
  async #place(): Promise<BoxPlace> {
    const { folder, keyFile } = this.parts;
    await this.#state();
    const key = readBoxKey(keyFile);
    if (key === undefined || segmentsIn(folder).length === 0)
      throw notFound("the black box has nothing here: `svc serve --black-box 1h` keeps one");
    return { folder, key };
  }

  /** Has the recorder write what it may; null where none records. */
  async #state() {
    if (!this.#keeping) return null;
    try {
      return (await (await this.parts.desktop()).blackBoxState()) ?? null;
    } catch {
      // What is on disk can be read all the same.
      return null;
    }
  }

  #begin(settings: BoxSettings): void {
    if (this.#isStopped) return;
    if (this.#keeping) {
      // One that is about to end, as it was paused a moment ago, is begun anew then.
      if (this.#end.signal.aborted)
        void this.#keeping.then(() => {
          if (!this.isPaused) this.#begin(settings);
        });
      return;
    }
    this.#end = new AbortController();
    this.#keeping = this.#keep(settings, this.#end.signal).finally(() => {
      this.#keeping = undefined;
    });
  }

  /** Records until it is asked to end. Never rejects. */
  async #keep({ spanMs, maxBytes, exclude }: BoxSettings, signal: AbortSignal): Promise<void> {
    const { folder, keyFile, desktop, publish, log, againMs = AGAIN_MS } = this.parts;
    for (let wait = againMs; !signal.aborted; wait = Math.min(2 * wait, LATEST_MS)) {
      try {
        const run = newRunKey(openBoxKey(keyFile));
        const screen = await desktop();
        if (signal.aborted) break;
        const keeping = screen.keepBlackBox({ folder, ...run, spanMs, maxBytes, exclude });
        // One that cannot begin says so at once.
        if (!(await resolvesWithin(STARTED_MS, keeping)) && !signal.aborted) {
          [this.#problem, wait] = [null, againMs];
          publish(boxStarted, { span_s: spanMs / 1_000 });
        }
        await keeping;
      } catch (error) {
        const problem = printable(messageOf(error), 500);
        if (!signal.aborted && problem !== this.#problem)
          log.warn(`the black box does not record: ${problem}`);
        this.#problem = problem;
      }
      await sleep(wait, signal).catch(() => {});
    }
    this.#problem = null;
  }

  async #halt(): Promise<void> {
    const keeping = this.#keeping;
    if (!keeping) return;
    this.#end.abort();
    const ending = this.parts.desktop().then((desktop) => desktop.stopBlackBox());
    await ending.catch(() => {});
    await keeping;
  }
}

/** Why `work` failed, in words; undefined where it did not. */
function failureOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return printable(messageOf(error), 300);
  }
}
