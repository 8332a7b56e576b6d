/**
 * Recording the screen.
 */
import * as v from "valibot";
import type { Caller } from "../../../../core/caller";
import { AT_DESKTOP } from "../../../../core/desktop-request";
import { between, bytes, field, NO_INPUT, path, seconds, whole } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { PacedAnswer } from "../../../../core/paced-answer";
import { allows, beyond, maySee, shareOf } from "../../../../core/rights";
import { forbidden } from "../../../../lib/errors";
import { KEPT_RECORDING, type MayUse, RECORDING, type Recordings } from "./recordings";

interface Uses {
  recordings(): Promise<Recordings>;
}

/** Who made a recording may use it, and its run may; whoever may act on this host may use all. */
const mayUseOf =
  ({ grant, run }: Caller): MayUse =>
  (origin) =>
    allows(grant, "operate") || maySee(grant, origin) || (run !== undefined && run.id === origin.run);

const MIB = 1_024 * 1_024;
const WEBM = "video/webm";

const FILE = v.pipe(v.string(), v.maxLength(4_096), v.regex(/^[^\0]*\.webm$/i, "a path that ends in .webm"));

export const startRecording = operation({
  name: "recording.start",
  summary: "Record the screen to a file that browsers play, until it is stopped or a limit is reached",
  scope: "screen",
  changes: true,
  answeredBy: "server",
  command: "AC_record_screen_start",
  http: { method: "POST", path: "/screen/recording/start" },
  example: { duration_s: 60 },
  input: v.strictObject({
    file_path: field(
      v.optional(path(FILE)),
      "File to write on the host, `.webm`; an existing one is replaced (default: one in `{config_dir}/recordings`, which keeps the newest 20, and of all tokens together 20)",
    ),
    duration_s: field(v.optional(seconds(between(1, 86_400)), 600), "How long it may be, seconds"),
    max_bytes: field(
      v.optional(bytes(whole(MIB, 4_096 * MIB)), 100 * MIB),
      "How large the file may be, bytes; where the screen changes too much for that, it has fewer pictures",
    ),
    fps: field(v.optional(between(0.1, 10), 4), "Pictures a second, at most; there is none without a change"),
    desktop: AT_DESKTOP,
  }),
  output: RECORDING,
  async run(service: Uses, { file_path, duration_s, max_bytes, fps, desktop }, caller) {
    const { grant, run } = caller;
    if (file_path !== undefined && !allows(grant, "operate")) {
      throw forbidden(beyond(grant, "file_path, a file anywhere on the host, needs operate"));
    }
    const request = {
      file: file_path,
      token: grant.name,
      share: shareOf(grant),
      run: run?.id ?? null,
      fps,
      desktop,
      maxMs: duration_s * 1_000,
      maxBytes: max_bytes,
    };
    return (await service.recordings()).start(request, mayUseOf(caller));
  },
});

export const stopRecording = operation({
  name: "recording.stop",
  summary: "End the recording of the screen and complete its file; that of another token needs operate",
  scope: "screen",
  asksFirst: true,
  changes: true,
  answeredBy: "server",
  command: "AC_record_screen_stop",
  http: { method: "POST", path: "/screen/recording/stop" },
  input: NO_INPUT,
  output: RECORDING,
  run: async (service: Uses, _input, caller) => (await service.recordings()).stop(mayUseOf(caller)),
});

const FOR_PEOPLE = "a script knows the file that it started";

export const listRecordings = operation({
  name: "recording.list",
  summary:
    "List the recordings in `{config_dir}/recordings`, newest first, and the one that goes on: without operate, own ones",
  scope: "screen",
  asksFirst: true,
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/screen/recordings" },
  input: NO_INPUT,
  output: v.object({
    current: v.nullable(RECORDING),
    recordings: v.array(KEPT_RECORDING),
    count: v.number(),
  }),
  async run(service: Uses, _input, caller) {
    const all = await service.recordings();
    const mayUse = mayUseOf(caller);
    const recordings = all.list(mayUse);
    return { current: all.current(mayUse), recordings, count: recordings.length };
  },
});

const getRecording = operation({
  name: "recording.get",
  summary: "Return a recording of the screen, a WebM file; that of another token needs operate",
  scope: "screen",
  reveals: true,
  leftOut: { script: FOR_PEOPLE, cli: "it is a file of this host: `svc recording list` names it" },
  http: { method: "GET", path: "/screen/recordings/{name}", content: WEBM },
  input: v.strictObject({
    name: field(v.pipe(v.string(), v.maxLength(128)), "Its name, as GET /screen/recordings has it"),
  }),
  output: v.instance(Response),
  async run(service: Uses, { name }, caller) {
    const file = (await service.recordings()).fileOf(name, mayUseOf(caller));
    return new PacedAnswer(Bun.file(file), {
      headers: { "content-type": WEBM, "content-disposition": `attachment; filename="${name}"` },
    });
  },
});

export const operations = [startRecording, stopRecording, listRecordings, getRecording];
