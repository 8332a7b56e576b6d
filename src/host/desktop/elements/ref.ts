/** Which element something is of, and what a program says that lacks what it is asked for: on every system. */
import { notFound, unavailable } from "../../../lib/errors";
import type { Questions } from "./accessible";

/** An element: the name of its program, on a bus or of this system, and its path there. */
export interface Ref {
  readonly bus: string;
  readonly path: string;
}

/** An answer that says that the program does not have such a thing, or what else it did not do. */
export class NoSuchThing extends Error {
  /** @param isLacking whether it says that it has no such element, interface or method, so that nothing was done. */
  constructor(
    message = "",
    readonly isLacking = true,
  ) {
    super(message);
  }
}

/**
 * Undefined, where the object has no such thing: for a call that changes something.
 *
 * @throws `unavailable` where the program broke the call off, or has gone: it may have done something. What else has gone wrong.
 */
export function orLacking(error: unknown): undefined {
  if (!(error instanceof NoSuchThing)) throw error;
  if (!error.isLacking) throw unavailable("the program was asked to do it, and does not say what came of it");
  return undefined;
}

/** No values, where the object has no such thing. @throws what else has gone wrong. */
export function orNone(error: unknown): unknown[] {
  if (error instanceof NoSuchThing) return [];
  throw error;
}

/**
 * To be called where a program says that it has no such thing: it says the same of what has gone.
 *
 * @throws `not_found` for an element without role and parent.
 */
export async function requireThere(ask: Pick<Questions, "role" | "parent">, ref: Ref): Promise<void> {
  if ((await ask.role(ref)) === 0 && (await ask.parent(ref)) === undefined) throw gone();
}

/** That an element is there no more. */
export const gone = () => notFound("the element has gone");
