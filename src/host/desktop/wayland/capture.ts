/**
 * Pictures of one output by ext-image-copy-capture, the successor of wlr-screencopy: a session gives the first picture at once, and each
 * further one when something has changed. They are of whole outputs.
 */
import { unavailable } from "../../../lib/errors";
import { type Rect, type Region, sizeOf } from "../geometry";
import { inMemory, shownSize } from "./blit";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";
import type { Output } from "./outputs";
import {
  type BufferKeeper,
  createBufferKeeper,
  type Form,
  type FrameTaker,
  isReadable,
  type OutputPicture,
} from "./picture-buffer";

const MANAGER = "ext_image_copy_capture_manager_v1";
const SOURCES = "ext_output_image_capture_source_manager_v1";

/** The protocols that it takes. */
export const CAPTURE_PROTOCOLS = [MANAGER, SOURCES] as const;

/** No option: the pointer is in no picture. */
const WITHOUT_POINTER = 0;
/** How many bytes a pixel has. */
const PIXEL_BYTES = 4;

/** Pictures of one output, until it is closed. */
interface CaptureSession {
  /** @param ms how long the picture may take; null for as long as nothing changes. */
  next(buffers: BufferKeeper, ms: number | null | undefined): Promise<OutputPicture>;
  close(): void;
}

/** @returns a function that makes takers; undefined where the compositor does not have it. */
export function openCaptures(
  connection: WaylandConnection,
  shm: WaylandObject<"wl_shm">,
): (() => FrameTaker) | undefined {
  const [manager, sources] = [connection.bind(MANAGER), connection.bind(SOURCES)];
  if (!manager || !sources) return undefined;
  const open = (output: Output): Promise<CaptureSession> => {
    const source = sources.make("create_source", output.object.id);
    const object = manager.make("create_session", source.id, WITHOUT_POINTER);
    return openSession(connection, object, output.name).finally(() => source.ask("destroy"));
  };
  return () => {
    const buffers = createBufferKeeper(shm);
    let watching: Promise<CaptureSession> | undefined;
    const leave = () => {
      watching?.then(({ close }) => close()).catch(() => {});
      watching = undefined;
    };
    return {
      async take(output, region, whenDamaged) {
        if (!whenDamaged) {
          const session = await open(output);
          try {
            const picture = await session.next(buffers, undefined);
            return region ? cut(picture, output, region) : picture;
          } finally {
            session.close();
          }
        }
        watching ??= open(output);
        try {
          return await (await watching).next(buffers, null);
        } catch (error) {
          leave();
          throw error;
        }
      },
      close() {
        leave();
        buffers.close();
      },
    };
  };
}

/** Resolves when the form of its pictures is known. */
async function openSession(
  connection: WaylandConnection,
  object: WaylandObject<"ext_image_copy_capture_session_v1">,
  name: string,
): Promise<CaptureSession> {
  const none = () =>
    unavailable(`the Wayland compositor ${connection.compositor} gave no picture of ${name}`);
  let size: { readonly width: number; readonly height: number } | undefined;
  let formats: number[] = [];
  let form: Form | undefined;
  /** Ends whatever is waited for. */
  let stop = () => {};
  const listen = (resolve: () => void, reject: (error: Error) => void) => {
    stop = () => reject(none());
    object.on({
      buffer_size(width, height) {
        size = { width, height };
      },
      shm_format(format) {
        if (isReadable(format)) formats.push(format);
      },
      done() {
        const [format] = formats;
        form =
          size && format !== undefined ? { ...size, format, stride: PIXEL_BYTES * size.width } : undefined;
        formats = [];
        resolve();
      },
      stopped: () => stop(),
    });
  };
  try {
    await connection.wait<void>("the size of the screen", listen);
  } catch (error) {
    // Nobody else has it: the compositor would keep one for each try.
    object.ask("destroy");
    throw error;
  }
  return {
    next(buffers, ms) {
      if (!form) throw unavailable("the Wayland compositor offers no memory for pictures of the screen");
      const { width, height } = form;
      const buffer = buffers.of(form);
      const frame = object.make("create_frame");
      const damage: Rect[] = [];
      let transform = 0;
      const begin = (resolve: (picture: OutputPicture) => void, reject: (error: Error) => void) => {
        stop = () => reject(none());
        frame.on({
          transform(turned) {
            transform = turned;
          },
          damage(x, y, across, down) {
            damage.push({ x, y, width: across, height: down });
          },
          ready: () => resolve(buffer.picture({ isUpsideDown: false, transform, damage })),
          failed: () => reject(none()),
        });
        frame.ask("attach_buffer", buffer.object.id);
        frame.ask("damage_buffer", 0, 0, width, height);
        frame.ask("capture");
      };
      return connection.wait("a picture of the screen", begin, ms).finally(() => frame.ask("destroy"));
    },
    close() {
      stop();
      object.ask("destroy");
    },
  };
}

/** What a picture of all of an output shows of a region of it, in the same memory. @param region from the corner of the output. */
function cut(picture: OutputPicture, output: Output, region: Region): OutputPicture {
  const { transform = 0, stride } = picture;
  const shown = shownSize(picture, transform);
  const scale = shown.width / sizeOf(output.region).width;
  const [x, y] = [Math.round(region.x1 * scale), Math.round(region.y1 * scale)];
  const width = Math.min(Math.round(region.x2 * scale), shown.width) - x;
  const height = Math.min(Math.round(region.y2 * scale), shown.height) - y;
  if (width <= 0 || height <= 0) throw unavailable(`there are no pictures of this part of ${output.name}`);
  const part = inMemory(picture, transform, { x, y, width, height });
  const pixels = picture.pixels.subarray(part.y * stride + part.x);
  return { ...picture, width: part.width, height: part.height, pixels };
}
