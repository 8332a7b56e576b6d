/**
 * The pages of `docs/`, each embedded as a file: nothing of them is in memory before somebody reads one.
 *
 * The paths in the imports are literal, so that the bundler embeds each file in the binary.
 */

import actions from "../../docs/actions.md" with { type: "file" };
import approvals from "../../docs/approvals.md" with { type: "file" };
import architecture from "../../docs/architecture.md" with { type: "file" };
import audit from "../../docs/audit.md" with { type: "file" };
import blackBox from "../../docs/black-box.md" with { type: "file" };
import clients from "../../docs/clients.md" with { type: "file" };
import configBundle from "../../docs/config-bundle.md" with { type: "file" };
import dashboard from "../../docs/dashboard.md" with { type: "file" };
import desktop from "../../docs/desktop.md" with { type: "file" };
import desktopTasks from "../../docs/desktop-tasks.md" with { type: "file" };
import desktops from "../../docs/desktops.md" with { type: "file" };
import diagnostics from "../../docs/diagnostics.md" with { type: "file" };
import elements from "../../docs/elements.md" with { type: "file" };
import events from "../../docs/events.md" with { type: "file" };
import firstFleet from "../../docs/first-fleet.md" with { type: "file" };
import fleet from "../../docs/fleet.md" with { type: "file" };
import install from "../../docs/install.md" with { type: "file" };
import inventories from "../../docs/inventories.md" with { type: "file" };
import links from "../../docs/links.md" with { type: "file" };
import liveScreen from "../../docs/live-screen.md" with { type: "file" };
import mcp from "../../docs/mcp.md" with { type: "file" };
import metrics from "../../docs/metrics.md" with { type: "file" };
import nats from "../../docs/nats.md" with { type: "file" };
import opentelemetry from "../../docs/opentelemetry.md" with { type: "file" };
import passkeys from "../../docs/passkeys.md" with { type: "file" };
import performance from "../../docs/performance.md" with { type: "file" };
import plans from "../../docs/plans.md" with { type: "file" };
import readme from "../../docs/README.md" with { type: "file" };
import receipts from "../../docs/receipts.md" with { type: "file" };
import robot from "../../docs/robot.md" with { type: "file" };
import scale from "../../docs/scale.md" with { type: "file" };
import scripts from "../../docs/scripts.md" with { type: "file" };
import secrets from "../../docs/secrets.md" with { type: "file" };
import security from "../../docs/security.md" with { type: "file" };
import service from "../../docs/service.md" with { type: "file" };
import signIn from "../../docs/sign-in.md" with { type: "file" };
import stalls from "../../docs/stalls.md" with { type: "file" };
import sync from "../../docs/sync.md" with { type: "file" };
import tenHosts from "../../docs/ten-hosts.md" with { type: "file" };
import troubleshooting from "../../docs/troubleshooting.md" with { type: "file" };
import turn from "../../docs/turn.md" with { type: "file" };
import upgrades from "../../docs/upgrades.md" with { type: "file" };
import usb from "../../docs/usb.md" with { type: "file" };
import webdriver from "../../docs/webdriver.md" with { type: "file" };
import webhooks from "../../docs/webhooks.md" with { type: "file" };
import { unpack } from "../lib/unpack";

/** The pages by their names, the index first; a value is the path of a file for `unpack`. */
const FILES = {
  README: readme,
  actions,
  approvals,
  architecture,
  audit,
  "black-box": blackBox,
  clients,
  "config-bundle": configBundle,
  dashboard,
  desktop,
  "desktop-tasks": desktopTasks,
  diagnostics,
  elements,
  events,
  "first-fleet": firstFleet,
  fleet,
  install,
  inventories,
  links,
  "live-screen": liveScreen,
  mcp,
  metrics,
  nats,
  opentelemetry,
  passkeys,
  performance,
  plans,
  receipts,
  robot,
  scale,
  scripts,
  desktops,
  secrets,
  security,
  service,
  "sign-in": signIn,
  stalls,
  sync,
  "ten-hosts": tenHosts,
  troubleshooting,
  turn,
  upgrades,
  usb,
  webdriver,
  webhooks,
} as const satisfies Readonly<Record<string, string>>;

/** The name of a page: its file in `docs/` without `.md`. */
export type PageName = keyof typeof FILES;

/** The names of all pages, the index first. */
export const PAGE_NAMES = Object.keys(FILES) as PageName[];

/** The page that `typed` names, in any case and with or without `.md`; undefined where there is none. */
export function pageNamed(typed: string): PageName | undefined {
  const wanted = typed.toLowerCase().replace(/\.md$/, "");
  return PAGE_NAMES.find((name) => name.toLowerCase() === wanted);
}

/** The Markdown of a page. */
export const readPage = (name: PageName): string => new TextDecoder().decode(unpack(FILES[name]));
