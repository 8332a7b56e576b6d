import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { forbidden } from "../../lib/errors";
import type { Service } from "../../service";

const TEXT = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000));

export const operations = [
  operation({
    name: "shell.run",
    summary: "Run a program and wait for its end; anything but exit code 0 is a failure",
    scope: "admin",
    needs: "shell",
    command: "AC_shell_command",
    example: { shell_command: "uname -a", timeout_seconds: 10 },
    input: v.strictObject({
      shell_command: field(
        v.union([
          TEXT,
          v.pipe(v.array(v.pipe(v.string(), v.maxLength(100_000))), v.minLength(1), v.maxLength(1_000)),
        ]),
        "A line for the shell (`/bin/sh -c`, on Windows `cmd /c`), or a list: the program and its arguments",
      ),
      cwd: field(v.optional(TEXT), "Folder it runs in (default: that of svc)"),
      timeout_seconds: field(
        v.optional(v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)), 300),
        "Seconds after which it is ended, with all that it has started",
      ),
    }),
    output: v.object({
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      stdout: v.string(),
      stderr: v.string(),
      truncated: v.boolean(),
    }),
    async run(service: Service, { shell_command, cwd, timeout_seconds }, { signal }) {
      if (!service.allowShell) throw forbidden("AC_shell_command needs svc to be started with --allow-shell");
      const { runShell } = await import("../shell");
      return runShell({ command: shell_command, cwd, timeoutSeconds: timeout_seconds }, signal);
    },
  }),
];
