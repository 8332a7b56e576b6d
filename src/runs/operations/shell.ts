import * as v from "valibot";
import { field, path, seconds } from "../../core/fields";
import { operation } from "../../core/operation";
import { forbidden } from "../../lib/errors";

const TEXT = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000));

export const operations = [
  operation({
    name: "shell.run",
    summary: "Run a program and wait until it ends; any exit code but 0 is a failure",
    scope: "admin",
    needs: "shell",
    command: "AC_shell_command",
    leftOut: {
      http: "a program runs as an action only, where the run has an id, a deadline and an audit row",
      cli: "the shell that would call it runs programs itself",
    },
    example: { shell_command: "uname -a", timeout_seconds: 10 },
    input: v.strictObject({
      shell_command: field(
        v.union([
          TEXT,
          v.pipe(v.array(v.pipe(v.string(), v.maxLength(100_000))), v.minLength(1), v.maxLength(1_000)),
        ]),
        "A line for the shell (`/bin/sh -c`, on Windows `cmd /c`), or a list: the program and its arguments",
      ),
      cwd: field(v.optional(path(TEXT)), "Working folder (default: the working folder of svc)"),
      timeout_seconds: field(
        v.optional(seconds(v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400))), 300),
        "Seconds after which the program and everything it started are ended",
      ),
    }),
    output: v.object({
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      stdout: v.string(),
      stderr: v.string(),
      truncated: v.boolean(),
    }),
    async run(
      service: { readonly allowShell: boolean },
      { shell_command, cwd, timeout_seconds },
      { signal },
    ) {
      if (!service.allowShell) throw forbidden("AC_shell_command needs svc to be started with --allow-shell");
      const { runShell } = await import("../shell");
      return runShell({ command: shell_command, cwd, timeoutSeconds: timeout_seconds }, signal);
    },
  }),
];
