/** What actions that start programs take. */
import * as v from "valibot";
import { field, judged, path, withoutHostSecrets } from "./fields";

const TEXT = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000));

/** A line for the shell, or a program and its arguments. */
export const COMMAND_LINE = v.union([
  TEXT,
  v.pipe(v.array(v.pipe(v.string(), v.maxLength(100_000))), v.minLength(1), v.maxLength(1_000)),
]);

/** {@link COMMAND_LINE}, which every user of the machine can read while it runs. */
export const COMMAND = field(
  withoutHostSecrets("every user of the host can read the arguments of a program: give it by env or stdin")(
    COMMAND_LINE,
  ),
  "A line for the shell (`/bin/sh -c`, on Windows `cmd /c`), or a list: the program and its arguments",
);

export const FOLDER = field(v.optional(path(TEXT)), "Working folder (default: the working folder of svc)");

/** Variables for a program, besides those of svc, which its user and root alone can read. */
export const ENV = field(
  v.optional(
    judged(
      v.pipe(
        v.record(
          v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "names of letters, digits and _")),
          v.pipe(v.string(), v.maxLength(30_000)),
        ),
        v.maxEntries(100),
      ),
    ),
  ),
  "Variables for the program, by name, besides those of svc; they may have secrets",
);
