/**
 * Pictures of one output: by ext-image-copy-capture where the compositor has it (`capture.ts`), else by wlr-screencopy.
 */
import { unavailable } from "../../../lib/errors";
import type { Rect, Region } from "../geometry";
import { openCaptures } from "./capture";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";
import type { Output } from "./outputs";
import {
  createBufferKeeper,
  type Form,
  type FrameTaker,
  isReadable,
  type OutputPicture,
  type PictureBuffer,
} from "./picture-buffer";

const MANAGER = "zwlr_screencopy_manager_v1";
/** `zwlr_screencopy_frame_v1.flags.y_invert`: the first row is the lowest. */
const UPSIDE_DOWN = 1;
/** The first version in which a frame says when it has named all kinds of buffers. */
const NAMES_ALL = 3;

/** @returns a function that makes takers. @throws `unavailable` where the compositor gives no pictures. */
export function openFrames(connection: WaylandConnection): () => FrameTaker {
  const shm = connection.bind("wl_shm");
  const captures = shm && openCaptures(connection, shm);
  if (captures) return captures;
  const manager = connection.bind(MANAGER);
  if (!manager || !shm) throw connection.lacks(MANAGER, "a picture of the screen cannot be taken");
  return () => {
    const { of: bufferFor, close } = createBufferKeeper(shm);
    return {
      take: (output, region, whenDamaged) =>
        takeFrame(connection, manager, { output, region, whenDamaged, bufferFor }),
      close,
    };
  };
}

interface Order {
  readonly output: Output;
  readonly region: Region | undefined;
  readonly whenDamaged: boolean;
  bufferFor(form: Form): PictureBuffer;
}

function takeFrame(
  connection: WaylandConnection,
  manager: WaylandObject<typeof MANAGER>,
  { output, region, whenDamaged, bufferFor }: Order,
): Promise<OutputPicture> {
  const { id } = output.object;
  const frame = region
    ? manager.make(
        "capture_output_region",
        ...([0, id, region.x1, region.y1, region.x2 - region.x1, region.y2 - region.y1] as const),
      )
    : manager.make("capture_output", 0, id);
  let form: Form | undefined;
  let buffer: PictureBuffer | undefined;
  let isUpsideDown = false;
  const damage: Rect[] = [];
  const begin = (resolve: (picture: OutputPicture) => void, reject: (error: Error) => void) => {
    const copy = () => {
      try {
        if (!form) throw unavailable("the Wayland compositor offers no memory for pictures of the screen");
        buffer = bufferFor(form);
        frame.ask(whenDamaged ? "copy_with_damage" : "copy", buffer.object.id);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    frame.on({
      buffer(format, width, height, stride) {
        if (!isReadable(format)) return;
        form = { format, width, height, stride };
        if (frame.version < NAMES_ALL) copy();
      },
      buffer_done: copy,
      flags(bits) {
        isUpsideDown = (bits & UPSIDE_DOWN) !== 0;
      },
      damage(x, y, width, height) {
        damage.push({ x, y, width, height });
      },
      ready() {
        if (buffer) resolve(buffer.picture({ isUpsideDown, damage }));
      },
      failed: () =>
        reject(
          unavailable(`the Wayland compositor ${connection.compositor} gave no picture of ${output.name}`),
        ),
    });
  };
  // Nothing may change for hours.
  return connection
    .wait("a picture of the screen", begin, whenDamaged ? null : undefined)
    .finally(() => frame.ask("destroy"));
}
