/**
 * The monitors of a Wayland compositor: where each is, in the units of the pointer, and how its pixels lie.
 */
import { around, type Region } from "../geometry";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";

/** The mode that an output has now (`wl_output.mode.current`). */
const CURRENT = 1;

/** A monitor. */
export interface Output {
  readonly object: WaylandObject<"wl_output">;
  /** As the compositor names it (`HEADLESS-1`); empty where it does not. */
  readonly name: string;
  /** In the coordinates of the pointer. */
  readonly region: Region;
  /** How its pixels are turned (`wl_output.transform`), 0 to 7. */
  readonly transform: number;
  /** How many of its pixels are one unit of the pointer. */
  readonly scale: number;
}

/** The monitors. */
export interface Outputs {
  /** In the compositor's order. */
  list(): readonly Output[];
  /** Each is called when one has come, gone or changed. */
  readonly listeners: Set<() => void>;
}

/** What the compositor has said of an output. */
interface State {
  object: WaylandObject<"wl_output">;
  name: string;
  at: readonly [x: number, y: number];
  mode: readonly [width: number, height: number];
  scale: number;
  transform: number;
  logicalAt?: readonly [x: number, y: number];
  logicalSize?: readonly [width: number, height: number];
}

/** Resolves when all outputs are known. */
export async function createOutputs(connection: WaylandConnection): Promise<Outputs> {
  const states = new Map<number, State>();
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const manager = connection.bind("zxdg_output_manager_v1");
  connection.bindEach(
    "wl_output",
    (global, bind) => {
      const object = bind({});
      const state: State = { object, name: "", at: [0, 0], mode: [0, 0], scale: 1, transform: 0 };
      object.on({
        geometry(x, y, _width, _height, _subpixel, _make, _model, transform) {
          state.at = [x, y];
          state.transform = transform;
        },
        mode(flags, width, height) {
          if (flags & CURRENT) state.mode = [width, height];
        },
        scale(factor) {
          state.scale = factor;
        },
        done: changed,
      });
      manager?.make("get_xdg_output", object.id).on({
        logical_position(x, y) {
          state.logicalAt = [x, y];
        },
        logical_size(width, height) {
          state.logicalSize = [width, height];
        },
        name(name) {
          state.name = name;
        },
        done: changed,
      });
      states.set(global.name, state);
    },
    ({ name }) => {
      states.delete(name);
      changed();
    },
  );
  await connection.roundTrip();
  return { list: () => [...states.values()].flatMap(outputOf), listeners };
}

/** None where the output is off: it has no mode then. */
function outputOf(state: State): Output[] {
  const { object, name, transform, scale, mode } = state;
  const [x, y] = state.logicalAt ?? state.at;
  const isTurned = transform % 2 === 1;
  const [across, down] = [mode[isTurned ? 1 : 0], mode[isTurned ? 0 : 1]];
  const [width, height] = state.logicalSize ?? [across / scale, down / scale];
  if (width <= 0 || height <= 0) return [];
  const region = { x1: x, y1: y, x2: x + width, y2: y + height };
  return [{ object, name, transform, region, scale: across / width }];
}

/** How they are laid out, as a text to compare. */
export const layoutOf = (outputs: readonly Output[]): string =>
  JSON.stringify(outputs.map(({ name, region, transform }) => [name, region, transform]));

/** What all of them cover together. */
export const boundsOf = (outputs: readonly Output[]): Region => around(outputs.map(({ region }) => region));
