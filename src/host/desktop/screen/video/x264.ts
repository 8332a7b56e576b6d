/**
 * Encoding by x264, build 164, as Debian 12 and Ubuntu 24.04 have it.
 *
 * Each build has its own name for the function that opens a stream, and its own layout of the parameters: another one is refused, and so
 * is one whose defaults are not where they should be. What has a name is set by that.
 */
import { dlopen, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { cString } from "../../../../lib/libc";
import { orElse } from "../../../../lib/or-else";
import type { Size } from "../../geometry";
import { type Planes, pointAtPlanes } from "./i420";
import { MOST_KBPS, PLANNED_FPS, type VideoLibrary, type VideoStream } from "./library";

const LIBRARY = "libx264.so.164";

/** `x264_param_t`: room for it, and where what is used lies. */
const PARAM_SIZE = 8_192;
const PARAM = {
  sliced: 12,
  syncLookahead: 24,
  width: 28,
  height: 32,
  csp: 36,
  bitDepth: 40,
  level: 44,
} as const;
/** `x264_picture_t`: room for it, and where what is used lies. */
const PICTURE_SIZE = 1_024;
const PICTURE = { type: 0, pts: 16, csp: 40, planes: 44, strides: 48, pointers: 64 } as const;
/** `x264_nal_t`: the payloads of all of them lie one after the other. */
const NAL_PAYLOAD = 24;
/** `X264_TYPE_AUTO`, `X264_TYPE_IDR` */
const [AUTO, IDR] = [0, 1];
/** `X264_CSP_I420` */
const I420 = 2;

/** What a viewer shows at once, on one processor, in one slice: noVNC takes each slice for a picture. */
const OPTIONS: Readonly<Record<string, string>> = {
  threads: "1",
  "sliced-threads": "0",
  // Only where a viewer needs one.
  keyint: "infinite",
  scenecut: "0",
  fps: `${PLANNED_FPS}/1`,
  crf: "23",
  "vbv-maxrate": `${MOST_KBPS}`,
  "vbv-bufsize": `${MOST_KBPS / 2}`,
  annexb: "1",
  "repeat-headers": "1",
  fullrange: "off",
  colorprim: "bt709",
  transfer: "iec61966-2-1",
  colormatrix: "smpte170m",
  // Quiet.
  log: "-1",
};

const open = () =>
  dlopen(LIBRARY, {
    x264_param_default_preset: { args: ["ptr", "ptr", "ptr"], returns: "i32" },
    x264_param_parse: { args: ["ptr", "ptr", "ptr"], returns: "i32" },
    x264_param_apply_profile: { args: ["ptr", "ptr"], returns: "i32" },
    x264_param_cleanup: { args: ["ptr"], returns: "void" },
    x264_encoder_open_164: { args: ["ptr"], returns: "ptr" },
    x264_picture_init: { args: ["ptr"], returns: "void" },
    x264_encoder_encode: { args: ["ptr", "ptr", "ptr", "ptr", "ptr"], returns: "i32" },
    x264_encoder_close: { args: ["ptr"], returns: "void" },
  }).symbols;

type Library = ReturnType<typeof open>;

/** @returns null where the host does not have this build. */
export function openX264(): VideoLibrary | null {
  const library = orElse(open, null);
  if (!library) return null;
  const { view, free } = defaults(library);
  free();
  if (!isKnown(view)) return null;
  return { name: "x264 (build 164)", open: (size) => openStream(library, size) };
}

/** The parameters for speed and no delay. */
function defaults(library: Library): { readonly view: DataView<ArrayBuffer>; free(): void } {
  const view = new DataView(new ArrayBuffer(PARAM_SIZE));
  const [preset, tune] = [cString("ultrafast"), cString("zerolatency")];
  const failed = library.x264_param_default_preset(ptr(view), ptr(preset), ptr(tune));
  if (failed) throw new Error("x264 does not know its presets");
  return { view, free: () => library.x264_param_cleanup(ptr(view)) };
}

/** Whether the defaults lie where they should. */
function isKnown(view: DataView): boolean {
  const { sliced, syncLookahead, width, height, csp, bitDepth, level } = PARAM;
  const found = [sliced, syncLookahead, width, height, csp, bitDepth, level].map((at) =>
    view.getInt32(at, true),
  );
  return found.join() === [1, 0, 0, 0, I420, 8, -1].join();
}

function openStream(library: Library, size: Size): VideoStream | null {
  const { view, free } = defaults(library);
  view.setInt32(PARAM.width, size.width, true);
  view.setInt32(PARAM.height, size.height, true);
  const refused = Object.entries(OPTIONS).filter(([name, value]) => {
    const [key, setting] = [cString(name), cString(value)];
    return library.x264_param_parse(ptr(view), ptr(key), ptr(setting)) !== 0;
  });
  const names = refused.map(([name]) => name);
  const profile = cString("baseline");
  if (library.x264_param_apply_profile(ptr(view), ptr(profile)) !== 0) names.push("the profile");
  const encoder = names.length > 0 ? null : library.x264_encoder_open_164(ptr(view));
  free();
  if (names.length > 0) throw new Error(`x264 does not take ${names.join(", ")}`);
  // All that differs from one stream to another is the size.
  return encoder ? streamOf(library, Number(encoder) as Pointer) : null;
}

function streamOf(library: Library, encoder: Pointer): VideoStream {
  const [picture, out] = [new DataView(new ArrayBuffer(PICTURE_SIZE)), new Uint8Array(PICTURE_SIZE)];
  const [nals, count] = [new BigUint64Array(1), new Int32Array(1)];
  let number = 0;
  return {
    encode(planes, isKey) {
      library.x264_picture_init(ptr(picture));
      fill(picture, planes);
      picture.setInt32(PICTURE.type, isKey ? IDR : AUTO, true);
      picture.setBigInt64(PICTURE.pts, BigInt(number++), true);
      const length = library.x264_encoder_encode(encoder, ptr(nals), ptr(count), ptr(picture), ptr(out));
      if (length <= 0) throw new Error(`x264 gave no picture (${length})`);
      const payload = read.ptr(Number(nals[0]) as Pointer, NAL_PAYLOAD) as Pointer;
      return new Uint8Array(toArrayBuffer(payload, 0, length));
    },
    close: () => library.x264_encoder_close(encoder),
  };
}

function fill(picture: DataView, planes: Planes): void {
  picture.setInt32(PICTURE.csp, I420, true);
  picture.setInt32(PICTURE.planes, 3, true);
  pointAtPlanes(picture, PICTURE, planes);
}
