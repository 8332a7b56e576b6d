/**
 * The screen of a session on the bus: the monitors as Wayland has them, and pictures of them from PipeWire, to which the compositor gives them.
 */
import { closeSync } from "node:fs";
import { deadline } from "../../../lib/deadline";
import { messageOf, timedOut, unavailable } from "../../../lib/errors";
import type { Backend, Picture } from "../backend";
import { type Point, type Region, sizeOf } from "../geometry";
import { boundsOf, type Output } from "../wayland/outputs";
import type { OutputPicture } from "../wayland/picture-buffer";
import { common, joined, moved, type Part } from "../wayland/screen";
import type { PictureStream, PipeWire } from "./pipewire";
import type { RemoteSession } from "./session";

/** How long the first picture may take, in milliseconds: nodes are linked by another program. */
const PICTURE_MS = 4_000;
const IN_TIME = `within ${PICTURE_MS / 1_000} s`;

/** Pictures of one monitor that come for as long as they are used. */
export interface Live extends PictureStream {
  /** Resolves with the newest picture, once there is one. @throws `unavailable`, `timeout`. */
  first(): Promise<OutputPicture>;
  /** They are not used any more; they end with the last who uses them. */
  leave(): void;
}

/** The screen. */
export interface RemoteScreen extends Pick<Backend, "desktop" | "monitors" | "capture"> {
  /** Pictures of a monitor from now on. @throws `unavailable` where there are none. */
  live(output: Output): Promise<Live>;
  /** Where pictures show the pointer; undefined where it is on none. */
  pointer(): Promise<Point | undefined>;
  close(): void;
}

/** @param openPipeWire connects to it, by a descriptor where the session gives one. @throws where it does not run. */
export function createRemoteScreen(
  session: RemoteSession,
  outputs: () => readonly Output[],
  openPipeWire: (descriptor: number | undefined) => PipeWire,
): RemoteScreen {
  const { who } = session;
  let pipewire: PipeWire | undefined;
  /** By the node, the pictures that are used, and by how many. */
  const used = new Map<number, { readonly stream: PictureStream; users: number }>();
  const forget = () => {
    pipewire?.close();
    pipewire = undefined;
    used.clear();
  };
  session.endListeners.add(() => {
    const ended = [...used.values()];
    used.clear();
    for (const { stream } of ended) stream.fail(`the session with ${who} has ended`);
    forget();
  });

  const live = async (output: Output): Promise<Live> => {
    const opened = await session.use(true);
    const stream = opened.streams.get(output.name);
    if (!stream)
      throw unavailable(`${who} gives no pictures of ${output.name}: ${opened.castProblem ?? "it is new"}`);
    const node = await inTime(stream.node, () => `${who} did not say where its pictures are ${IN_TIME}`);
    if (!pipewire) {
      const descriptor = await opened.pipewire();
      // Another call may have been faster.
      if (pipewire && descriptor !== undefined) closeSync(descriptor);
      pipewire ??= openPipeWire(descriptor);
    }
    const entry = used.get(node) ?? { stream: pipewire.stream(node), users: 0 };
    used.set(node, entry);
    entry.users++;
    let isUsed = true;
    const leave = () => {
      if (!isUsed) return;
      isUsed = false;
      entry.users--;
      if (entry.users > 0 || used.get(node) !== entry) return;
      used.delete(node);
      const isBroken = entry.stream.problem !== undefined;
      entry.stream.close();
      // PipeWire may have been started anew.
      if (isBroken && used.size === 0) forget();
    };
    return Object.assign(Object.create(entry.stream) as PictureStream, {
      leave,
      first: () => firstOf(entry.stream, who, output.name, () => pipewire?.step()),
    });
  };
  const capture = async (wanted: Region): Promise<Picture> => {
    const parts: Part[] = [];
    for (const output of outputs()) {
      const shared = common(wanted, output.region);
      if (!shared) continue;
      const shown = await live(output);
      try {
        const picture = await shown.first();
        const scale = picture.width / sizeOf(output.region).width;
        const { x1, y1 } = output.region;
        parts.push({
          output: { ...output, transform: 0 },
          shared,
          scale,
          picture: cut(`${who} gives pictures of ${output.name}`, picture, moved(shared, -x1, -y1), scale),
        });
      } finally {
        shown.leave();
      }
    }
    return joined(wanted, parts);
  };
  return {
    desktop: async () => boundsOf(outputs()),
    monitors: async () => outputs().map(({ region }) => region),
    capture,
    live,
    async pointer() {
      for (const output of outputs()) {
        const shown = await live(output).catch(() => undefined);
        if (!shown) return undefined;
        try {
          const { width } = await shown.first();
          const { cursor } = shown;
          const { x1, y1 } = output.region;
          const scale = width / sizeOf(output.region).width;
          if (cursor) return { x: x1 + Math.floor(cursor.x / scale), y: y1 + Math.floor(cursor.y / scale) };
        } catch {
          return undefined;
        } finally {
          shown.leave();
        }
      }
      return undefined;
    },
    close: forget,
  };
}

/** Why there are no pictures of a screen; undefined where there are. */
export async function pictureProblem({
  monitors,
  capture,
}: Pick<RemoteScreen, "monitors" | "capture">): Promise<string | undefined> {
  try {
    const [first] = await monitors();
    if (first) await capture({ x1: first.x1, y1: first.y1, x2: first.x1 + 1, y2: first.y1 + 1 });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** @param why says what did not come in time. */
const inTime = <T>(promise: Promise<T>, why: () => string): Promise<T> =>
  deadline(promise, {
    ms: PICTURE_MS,
    late: () => timedOut(why()),
  });

/** @param step brings the newest of those that come already. */
async function firstOf(
  stream: PictureStream,
  who: string,
  name: string,
  step: () => void,
): Promise<OutputPicture> {
  step();
  const { promise, resolve, reject } = Promise.withResolvers<OutputPicture>();
  const look = () => {
    if (stream.problem !== undefined) reject(unavailable(`no pictures of ${name}: ${stream.problem}`));
    else if (stream.picture) resolve(stream.picture);
  };
  stream.listeners.add(look);
  look();
  const why = () => {
    const { refusal } = stream;
    const none = `${who} showed no picture of ${name} to PipeWire ${IN_TIME}`;
    return refusal === undefined ? none : `${none}: those that came are not read, as ${refusal}`;
  };
  try {
    return await inTime(promise, why);
  } finally {
    stream.listeners.delete(look);
  }
}

/**
 * A part of a picture, whose memory is its own.
 *
 * @param whose who gives pictures of which monitor. @param part in the units of the pointer, from the corner of the monitor.
 * @throws `unavailable` where the picture, which has not to be of the shape of the monitor, has nothing there.
 */
function cut(whose: string, picture: OutputPicture, part: Region, scale: number): OutputPicture {
  const [x, y] = [Math.round(part.x1 * scale), Math.round(part.y1 * scale)];
  const width = Math.min(picture.width, Math.round(part.x2 * scale)) - x;
  const height = Math.min(picture.height, Math.round(part.y2 * scale)) - y;
  if (width <= 0 || height <= 0)
    throw unavailable(
      `${whose} with ${picture.width}x${picture.height} pixels: there are none of this part of it`,
    );
  const from = y * picture.stride + x;
  const pixels = picture.pixels.slice(from, from + (height - 1) * picture.stride + width);
  return { ...picture, width, height, pixels };
}
