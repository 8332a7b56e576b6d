/**
 * What the child that touches the display can be asked.
 */
import type { Button, DesktopWindow, Direction, Stroke, Target } from "./backend";
import type { Point, Region, Size } from "./geometry";

/** Which part of the desktop; all of it when neither is given. */
export interface Frame {
  /** The number of a monitor, from 0. */
  readonly monitor?: number | undefined;
  /** Measured from the corner of that monitor; without one, where the pointer's coordinates are. */
  readonly region?: Region | undefined;
}

/** A picture as a PNG: in base64, or in a file that was asked for. */
export interface Shot extends Size {
  readonly base64: string | null;
}

/** Each call's argument and result. */
export interface Calls {
  readonly screenSize: { readonly argument: null; readonly result: Size };
  readonly pointer: { readonly argument: null; readonly result: Point };
  readonly move: { readonly argument: Target; readonly result: Point };
  readonly click: {
    readonly argument: { readonly target: Target; readonly button: Button; readonly stroke: Stroke };
    readonly result: Point;
  };
  readonly scroll: {
    readonly argument: { readonly target: Target; readonly direction: Direction; readonly steps: number };
    readonly result: Point;
  };
  readonly strike: {
    readonly argument: { readonly keys: readonly string[]; readonly stroke: Stroke };
    readonly result: undefined;
  };
  readonly type: { readonly argument: string; readonly result: undefined };
  readonly screenshot: { readonly argument: Frame & { readonly file: string | null }; readonly result: Shot };
  /** Undefined where the platform does not tell. */
  readonly windows: { readonly argument: null; readonly result: readonly DesktopWindow[] | undefined };
  readonly focus: { readonly argument: number; readonly result: undefined };
  /** What is down is to stay so when the child goes: runs that finished have left it. */
  readonly keepDown: { readonly argument: null; readonly result: undefined };
}

export type CallName = keyof Calls;

/** A call, as it travels. */
export type Request = {
  readonly [N in CallName]: { readonly name: N; readonly argument: Calls[N]["argument"] };
}[CallName];
