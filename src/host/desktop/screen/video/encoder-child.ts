/**
 * The process that encodes videos, with a library of the host: the desktop's child, and the viewers in it, outlive whatever becomes of that.
 */
import { serveParent } from "../../../../lib/child";
import { confineAlone, confineLightly } from "../../../../lib/confine";
import { once } from "../../../../lib/once";
import { lowerPriority } from "../../../../lib/priority";
import { MOST_BYTES, type VideoCalls, type WantedPicture } from "./calls";
import { createPlanes, findConverter, type Planes } from "./i420";
import { findLibrary, type VideoStream } from "./library";

export default async function videoChild(): Promise<void> {
  lowerPriority();
  await confineLightly();
  await serveParent<VideoCalls>(() => createVideoCalls(findLibrary, confineAlone));
}

/** A stream, and the memory for the pictures that go into it. */
interface OpenStream {
  readonly stream: VideoStream;
  readonly planes: Planes;
}

/**
 * The calls of this process.
 *
 * @param find the library to encode with (default: that of the host).
 * @param opened called when all that it loads and opens is there, before it sees pixels: whoever draws on the screen chooses them, and the
 *   libraries are C.
 */
export function createVideoCalls(find = findLibrary, opened = async (): Promise<void> => {}): VideoCalls {
  const library = once(find);
  const convert = once(async () => findConverter());
  let memory: Uint8Array<ArrayBuffer> | undefined;
  let open: OpenStream | undefined;

  const begin = async ({ width, height }: WantedPicture) => {
    open?.stream.close();
    open = undefined;
    const found = await library();
    if (!found) throw new Error("the host has no library that encodes videos");
    const stream = found.open({ width, height });
    if (stream) open = { stream, planes: createPlanes({ width, height }) };
    return open;
  };

  return {
    find: async () => (await library())?.name ?? null,
    async share(path) {
      const mapped = Bun.mmap(path, { shared: true });
      await Promise.all([library(), convert()]);
      await opened();
      memory = mapped;
    },
    async encode(wanted) {
      if (!memory) throw new Error("there is no memory with pixels");
      const into = wanted.kind === "first" || !open ? await begin(wanted) : open;
      if (!into) return "its size";
      const { stream, planes } = into;
      const pixels = new Int32Array(memory.buffer, memory.byteOffset, planes.width * planes.height);
      (await convert())(pixels, planes);
      const bytes = stream.encode(planes, wanted.kind !== "next");
      if (bytes.length > MOST_BYTES) return "its bytes";
      memory.set(bytes, memory.length - MOST_BYTES);
      return bytes.length;
    },
  };
}
