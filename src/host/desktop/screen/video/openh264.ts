/**
 * Encoding by OpenH264 2.3.1, as Debian 12 has it.
 *
 * Its encoder is an object of C++, called through its table of functions; the layout of the parameters is that of this version's header
 * (`codec_app_def.h`). Another version is refused, and so is one whose defaults are not where they should be.
 */
import { CFunction, dlopen, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { orElse } from "../../../../lib/or-else";
import type { Size } from "../../geometry";
import { type Planes, pointAtPlanes } from "./i420";
import { COLOURS, MOST_KBPS, PLANNED_FPS, type VideoLibrary, type VideoStream } from "./library";

const LIBRARY = "libopenh264.so.7";
const VERSION = [2, 3, 1];

/** Where the functions of `ISVCEncoder` lie in their table. */
const METHOD = {
  initialize: 8,
  defaults: 16,
  uninitialize: 24,
  encode: 32,
  forceKey: 48,
  setOption: 56,
} as const;
/** `ENCODER_OPTION_TRACE_LEVEL`, `WELS_LOG_QUIET` */
const [TRACE_LEVEL, QUIET] = [25, 0];

/** `SEncParamExt`: room for it, and where what is used lies. */
const PARAM_SIZE = 4_096;
const PARAM = {
  width: 4,
  height: 8,
  bitrate: 12,
  rateControl: 16,
  fps: 20,
  temporalLayers: 24,
  spatialLayers: 28,
  layer: 32,
  complexity: 832,
  references: 840,
  parameterSets: 844,
  frameSkip: 860,
  mostQp: 868,
  leastQp: 872,
  threads: 892,
  sceneChange: 912,
  idrRatio: 916,
} as const;
/** `SSpatialLayerConfig`, from the layer's start: a byte each from `signal` on. */
const LAYER = {
  width: 0,
  height: 4,
  fps: 8,
  bitrate: 12,
  signal: 184,
  fullRange: 186,
  colours: 187,
  primaries: 188,
  transfer: 189,
  matrix: 190,
} as const;
/** `RC_QUALITY_MODE`, `LOW_COMPLEXITY`, `CONSTANT_ID` */
const [QUALITY, LOW, CONSTANT] = [0, 0, 0];
const [LEAST_QP, MOST_QP] = [16, 40];
/** Bits a pixel of a video. */
const BITS_A_PIXEL = 0.2;

/** `SSourcePicture` */
const SOURCE_SIZE = 256;
const SOURCE = { format: 0, strides: 4, pointers: 24, width: 56, height: 60, time: 64 } as const;
/** `videoFormatI420` */
const I420 = 23;
/** `SFrameBSInfo`, and `SLayerBSInfo` in it. */
const INFO_SIZE = 8_192;
const INFO = { layers: 0, first: 8, layerSize: 40, nals: 16, lengths: 24, bytes: 32 } as const;
const MOST_LAYERS = 128;

const open = () =>
  dlopen(LIBRARY, {
    WelsGetCodecVersionEx: { args: ["ptr"], returns: "void" },
    WelsCreateSVCEncoder: { args: ["ptr"], returns: "i32" },
    WelsDestroySVCEncoder: { args: ["ptr"], returns: "void" },
  }).symbols;

type Library = ReturnType<typeof open>;

/** @returns null where the host does not have this version. */
export function openOpenH264(): VideoLibrary | null {
  const library = orElse(open, null);
  if (!library) return null;
  const version = new Uint32Array(4);
  library.WelsGetCodecVersionEx(ptr(version));
  if (version.subarray(0, 3).join() !== VERSION.join()) return null;
  const encoder = createEncoder(library);
  const isRight = isKnown(encoder.defaults());
  encoder.destroy();
  if (!isRight) return null;
  return { name: `OpenH264 ${VERSION.join(".")}`, open: (size) => openStream(library, size) };
}

/** The object, and those of its functions that are used; they answer 0 where all is well. */
interface Encoder {
  defaults(): DataView<ArrayBuffer>;
  initialize(parameters: DataView<ArrayBuffer>): number;
  encode(source: DataView<ArrayBuffer>, info: DataView<ArrayBuffer>): number;
  /** The next picture needs none before it. */
  forceKey(): void;
  destroy(): void;
}

function createEncoder(library: Library): Encoder {
  const made = new BigUint64Array(1);
  const failed = library.WelsCreateSVCEncoder(ptr(made));
  const self = Number(made[0]) as Pointer;
  if (failed || !self) throw new Error("OpenH264 makes no encoder");
  const table = read.ptr(self, 0) as Pointer;
  const method = (offset: number, args: readonly ("ptr" | "i32")[]) =>
    CFunction({ ptr: read.ptr(table, offset) as Pointer, args: ["ptr", ...args], returns: "i32" });
  const methods = {
    initialize: method(METHOD.initialize, ["ptr"]),
    defaults: method(METHOD.defaults, ["ptr"]),
    uninitialize: method(METHOD.uninitialize, []),
    encode: method(METHOD.encode, ["ptr", "ptr"]),
    forceKey: method(METHOD.forceKey, ["i32", "i32"]),
    setOption: method(METHOD.setOption, ["i32", "ptr"]),
  };
  const level = new Int32Array([QUIET]);
  methods.setOption(self, TRACE_LEVEL, ptr(level));
  return {
    defaults() {
      const view = new DataView(new ArrayBuffer(PARAM_SIZE));
      methods.defaults(self, ptr(view));
      return view;
    },
    initialize: (parameters) => Number(methods.initialize(self, ptr(parameters))),
    encode: (source, info) => Number(methods.encode(self, ptr(source), ptr(info))),
    forceKey: () => void methods.forceKey(self, 1, -1),
    destroy() {
      methods.uninitialize(self);
      library.WelsDestroySVCEncoder(self);
      for (const one of Object.values(methods)) one.close();
    },
  };
}

/** Whether the defaults lie where they should. */
function isKnown(view: DataView): boolean {
  const { width, temporalLayers, spatialLayers, references, parameterSets, mostQp, idrRatio } = PARAM;
  const places = [width, temporalLayers, spatialLayers, references, parameterSets, mostQp, idrRatio];
  const found = places.map((at) => view.getInt32(at, true));
  found.push(view.getUint16(PARAM.threads, true));
  found.push(view.getUint8(PARAM.layer + LAYER.primaries));
  return found.join() === [0, 1, 1, -1, 1, 51, 400, 1, 2].join();
}

function openStream(library: Library, { width, height }: Size): VideoStream | null {
  const encoder = createEncoder(library);
  const view = encoder.defaults();
  const bitrate = Math.min(MOST_KBPS * 1_000, Math.round(width * height * BITS_A_PIXEL * PLANNED_FPS));
  const { layer } = PARAM;
  for (const [at, value] of [
    [PARAM.width, width],
    [PARAM.height, height],
    [PARAM.bitrate, bitrate],
    [PARAM.rateControl, QUALITY],
    [PARAM.complexity, LOW],
    [PARAM.references, 1],
    [PARAM.parameterSets, CONSTANT],
    [PARAM.mostQp, MOST_QP],
    [PARAM.leastQp, LEAST_QP],
    [layer + LAYER.width, width],
    [layer + LAYER.height, height],
    [layer + LAYER.bitrate, bitrate],
  ] as const)
    view.setInt32(at, value, true);
  view.setFloat32(PARAM.fps, PLANNED_FPS, true);
  view.setFloat32(layer + LAYER.fps, PLANNED_FPS, true);
  view.setUint16(PARAM.threads, 1, true);
  for (const [at, value] of [
    [PARAM.frameSkip, 0],
    [PARAM.sceneChange, 0],
    [layer + LAYER.signal, 1],
    [layer + LAYER.fullRange, 0],
    [layer + LAYER.colours, 1],
    [layer + LAYER.primaries, COLOURS.primaries],
    [layer + LAYER.transfer, COLOURS.transfer],
    [layer + LAYER.matrix, COLOURS.matrix],
  ] as const)
    view.setUint8(at, value);
  if (encoder.initialize(view) === 0) return streamOf(encoder);
  // All that differs from one stream to another is the size, which may be 36,864 blocks of 16 by 16 pixels (level 5.2).
  encoder.destroy();
  return null;
}

function streamOf(encoder: Encoder): VideoStream {
  const source = new DataView(new ArrayBuffer(SOURCE_SIZE));
  const info = new DataView(new ArrayBuffer(INFO_SIZE));
  let number = 0;
  return {
    encode(planes, isKey) {
      fill(source, planes);
      source.setBigInt64(SOURCE.time, BigInt(Math.round((number * 1_000) / PLANNED_FPS)), true);
      if (isKey && number > 0) encoder.forceKey();
      number += 1;
      const failed = encoder.encode(source, info);
      const bytes = failed ? new Uint8Array() : bytesOf(info);
      if (bytes.length === 0) throw new Error(`OpenH264 gave no picture (${failed})`);
      return bytes;
    },
    close: () => encoder.destroy(),
  };
}

function fill(source: DataView, planes: Planes): void {
  source.setInt32(SOURCE.format, I420, true);
  source.setInt32(SOURCE.width, planes.width, true);
  source.setInt32(SOURCE.height, planes.height, true);
  pointAtPlanes(source, SOURCE, planes);
}

/** The parameter sets are a layer of their own before the picture. */
function bytesOf(info: DataView): Uint8Array {
  const layers = Math.min(info.getInt32(INFO.layers, true), MOST_LAYERS);
  const parts = Array.from({ length: layers }, (_, nth) => {
    const at = INFO.first + INFO.layerSize * nth;
    const lengths = Number(info.getBigUint64(at + INFO.lengths, true)) as Pointer;
    let length = 0;
    for (let nal = 0; nal < info.getInt32(at + INFO.nals, true); nal++) length += read.i32(lengths, 4 * nal);
    const start = Number(info.getBigUint64(at + INFO.bytes, true)) as Pointer;
    return new Uint8Array(toArrayBuffer(start, 0, length));
  });
  return Buffer.concat(parts);
}
