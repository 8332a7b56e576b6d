/**
 * What is at a path. With `throwIfNoEntry: false`, node and Bun still throw for a path below a file, where nothing is either.
 */
import { accessSync, lstatSync, type Stats, statSync } from "node:fs";
import { orElse, unlessCode } from "./or-else";

/** What is at `path`, without following a link there; undefined where nothing is. @throws the system error where that cannot be seen. */
export const look = (path: string): Stats | undefined =>
  unlessBelowFile(() => lstatSync(path, { throwIfNoEntry: false }));

/** As {@link look}, but follows links; undefined also for a link that leads nowhere. */
export const lookThrough = (path: string): Stats | undefined =>
  unlessBelowFile(() => statSync(path, { throwIfNoEntry: false }));

/** Whether this user may do that with what is at `path` (access(2)). @param mode `constants.W_OK` and its like. */
export const mayUse = (path: string, mode: number): boolean =>
  orElse(() => {
    accessSync(path, mode);
    return true;
  }, false);

const unlessBelowFile = <T>(find: () => T): T | undefined => unlessCode("ENOTDIR", find);
