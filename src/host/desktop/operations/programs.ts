/**
 * The operation that starts a program and goes on.
 */
import * as v from "valibot";
import { flag } from "../../../core/fields";
import { runOf } from "../../../core/nested-lists";
import { operation } from "../../../core/operation";
import { COMMAND, ENV, FOLDER } from "../../../core/program";
import { notPermitted, type Permission, requireOwnToken } from "../../../core/rights";
import type { ProgramSession, Programs } from "../programs";

interface Uses {
  /** That of the run, where it has a desktop of its own. */
  readonly session?: ProgramSession;
  permits(need: Permission): boolean;
  programs(): Promise<Programs>;
}

const IN_RUNS = "a program is started as an action only, where it ends with the run";

export const operations = [
  operation({
    name: "desktop.launch",
    summary: "Start a program and go on; it ends with the run",
    scope: "admin",
    changes: "announces",
    needs: "shell",
    command: "AC_launch",
    leftOut: { http: IN_RUNS, cli: IN_RUNS },
    example: { command: ["xterm", "-title", "Report"] },
    input: v.strictObject({
      command: COMMAND,
      cwd: FOLDER,
      detach: flag("Let it go on when the run has ended"),
      env: ENV,
    }),
    output: v.object({ pid: v.number() }),
    async run(service: Uses, input, caller) {
      if (!service.permits("shell")) throw notPermitted("AC_launch", "shell");
      if (input.detach) requireOwnToken(caller.grant, "AC_launch with detach");
      const run = runOf(caller);
      // Its digest alone: command lines hold secrets.
      await caller.announce(`desktop.launch args=sha256:${Bun.SHA256.hash(JSON.stringify(input), "hex")}`);
      return { pid: await (await service.programs()).launch(input, run, service.session) };
    },
  }),
];
