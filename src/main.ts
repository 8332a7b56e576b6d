#!/usr/bin/env bun
/**
 * The entrypoint: `--version` at once, svc's own children next, everything else through yargs.
 */
import { childModule } from "./children";
import { commit, version } from "./version";

const args = process.argv.slice(2);
const child = childModule(args[0]);
if (args.length === 1 && args[0] === "--version") {
  console.log(`svc ${version} (${commit})`);
} else if (child) {
  await (await child()).default(args.slice(1));
} else {
  const { runCommandLine } = await import("./cli/run");
  await runCommandLine(args);
}
