#!/usr/bin/env bun
/**
 * The entrypoint: `--version` at once, svc's own child processes next, everything else through yargs.
 */
import { commit, version } from "./version";

/** The body of a child: what it does with the arguments after its name. */
type ChildModule = { readonly default: (args: readonly string[]) => Promise<void> };

/** Hidden subcommands that need no parser. Work that may crash, hang or take long runs in a child (`lib/child.ts`). */
const children: Readonly<Record<string, () => Promise<ChildModule>>> = {
  "audit-child": () => import("./host/audit/worker"),
  "black-box-child": () => import("./host/desktop/screen/black-box/reading-child"),
  "desktop-child": () => import("./host/desktop/worker-child"),
  "elements-child": () => import("./host/desktop/elements/worker-child"),
  "video-child": () => import("./host/desktop/screen/video/encoder-child"),
  "query-child": () => import("./host/desktop/webdriver/query-child"),
  "session-child": () => import("./host/peers/worker"),
  "standby-child": () => import("./service/standby-child"),
  "text-child": () => import("./host/desktop/text/wasm-child"),
  "upgrade-by-root": () => import("./service/upgrade-by-root"),
  "upgrade-child": () => import("./service/upgrade-child"),
  "usb-child": () => import("./host/usb/worker-child"),
  "yaml-child": () => import("./lib/yaml-child"),
};

const args = process.argv.slice(2);
const [first = ""] = args;
if (args.length === 1 && first === "--version") {
  console.log(`svc ${version} (${commit})`);
} else if (Object.hasOwn(children, first)) {
  await (await children[first]?.())?.default(args.slice(1));
} else {
  const { registry } = await import("../commands");
  if (first === "complete") await (await import("./cli/completion")).printCandidates(registry, args.slice(1));
  else await (await import("./cli/run")).runCommandLine(registry, args);
}
