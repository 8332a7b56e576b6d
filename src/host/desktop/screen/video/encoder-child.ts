/**
 * The process that encodes videos, with a library of the host: the desktop's child, and the viewers in it, outlive whatever becomes of that.
 */
import { serveParent } from "../../../../lib/child";
import { confineLightly } from "../../../../lib/confine";
import { once } from "../../../../lib/once";
import { lowerPriority } from "../../../../lib/priority";
import { MOST_BYTES, type VideoCalls, type WantedPicture } from "./calls";
import { createPlanes, findConverter, type Planes } from "./i420";
import { findLibrary, type VideoStream } from "./library";

export default async function videoChild(): Promise<void> {
  lowerPriority();
  await confineLightly();
  await serveParent<VideoCalls>(() => createVideoCalls());
}

/** A stream, and the memory for the pictures that go into it. */
interface OpenStream {
  readonly stream: VideoStream;
  readonly planes: Planes;
}

/** The calls of this process. @param find the library to encode with (default: that of the host). */
export function createVideoCalls(find = findLibrary): VideoCalls {
  const library = once(find);
  const convert = once(async () => findConverter());
  let memory: Uint8Array<ArrayBuffer> | undefined;
  let open: OpenStream | undefined;

  const begin = async ({ width, height }: WantedPicture) => {
    open?.stream.close();
    open = undefined;
    const found = await library();
    if (!found) throw new Error("the host has no library that encodes videos");
    open = { stream: found.open({ width, height }), planes: createPlanes({ width, height }) };
    return open;
  };

  return {
    find: async () => (await library())?.name ?? null,
    async share(path) {
      memory = Bun.mmap(path, { shared: true });
    },
    async encode(wanted) {
      if (!memory) throw new Error("there is no memory with pixels");
      const { stream, planes } = wanted.kind === "first" || !open ? await begin(wanted) : open;
      const pixels = new Int32Array(memory.buffer, memory.byteOffset, planes.width * planes.height);
      (await convert())(pixels, planes);
      const bytes = stream.encode(planes, wanted.kind !== "next");
      if (bytes.length > MOST_BYTES) throw new Error(`a picture of a video has ${bytes.length} bytes`);
      memory.set(bytes, memory.length - MOST_BYTES);
      return bytes.length;
    },
  };
}
