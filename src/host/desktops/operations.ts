/**
 * The operations of desktops on demand.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { DESKTOP_NAME, DESKTOP_SETTINGS, NEW } from "../../core/desktop-request";
import { field, flag } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, shareOf } from "../../core/rights";
import { conflict } from "../../lib/errors";
import { DESKTOP_VIEW } from "../../wire/screen/desktop-view";
import { desktopsEndpoint } from "../../wire/screen/endpoints";
import type { Desktops } from "./desktops";

interface Uses {
  desktops(): Promise<Desktops>;
}

const BY_RUN = { script: "a run says in its options which desktop it works on" };
const NAMED = { name: field(DESKTOP_NAME, "The name of the desktop") };

/** Who asks for a desktop. */
export const askerOf = ({ grant, signal }: Pick<Caller, "grant" | "signal">) => ({
  token: grant.name,
  share: shareOf(grant),
  signal,
});

export type { DesktopView } from "../../wire/screen/desktop-view";

export const listDesktops = operation({
  ...desktopsEndpoint,
  summary: "List the desktops that run beside that of the host: those of runs, and those that are kept",
  scope: "read",
  answeredBy: "server",
  leftOut: BY_RUN,
  async run(service: Uses) {
    const all = await service.desktops();
    const desktops = all.list();
    return { desktops, count: desktops.length, most: all.most, disk_limit_bytes: all.diskLimit };
  },
});

export const showDesktop = operation({
  name: "desktops.show",
  summary: "Show a desktop that runs beside that of the host",
  scope: "read",
  answeredBy: "server",
  http: { method: "GET", path: "/desktops/{name}" },
  leftOut: BY_RUN,
  input: v.strictObject(NAMED),
  output: DESKTOP_VIEW,
  run: async (service: Uses, { name }) => (await service.desktops()).show(name),
});

export const startDesktop = operation({
  name: "desktops.start",
  summary: "Start a desktop that is kept until it is stopped, or svc stops",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  http: { method: "POST", path: "/desktops/start" },
  leftOut: BY_RUN,
  example: { name: "orders", size: "1280x800" },
  input: v.strictObject({ ...NAMED, ...DESKTOP_SETTINGS }),
  output: DESKTOP_VIEW,
  run: async (service: Uses, { name, ...settings }, caller) =>
    (await service.desktops()).start(name, settings, askerOf(caller)),
});

export const stopDesktop = operation({
  name: "desktops.stop",
  summary: "Stop a desktop, with whatever was started on it",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  http: { method: "POST", path: "/desktops/stop" },
  leftOut: BY_RUN,
  input: v.strictObject(NAMED),
  output: DESKTOP_VIEW,
  run: async (service: Uses, { name }, { grant }) =>
    (await service.desktops()).end(name, ({ token }) => token === grant.name || allows(grant, "admin")),
});

const BY_SVC = "a process of the same user asks so for a run of its own";

/** A desktop that is kept, for a run of another process of this user. */
export const enterDesktop = operation({
  name: "desktops.enter",
  summary: "Say how programs are started on the desktop that is kept under a name",
  scope: "admin",
  answeredBy: "server",
  leftOut: { http: BY_SVC, cli: BY_SVC, script: BY_SVC },
  input: v.strictObject({
    ...NAMED,
    ...DESKTOP_SETTINGS,
    starts: flag("Start it where it does not run"),
  }),
  output: v.object({
    env: v.record(v.string(), v.string()),
    /** What is before a command line, so that it runs as the user of the desktop. */
    before: v.array(v.string()),
    lock_file: v.string(),
  }),
  async run(service: Uses, { starts, ...request }, caller) {
    if (request.name === NEW) throw conflict(`name: ${NEW} is the word for a desktop that ends with its run`);
    const all = await service.desktops();
    const { session, lockFile } = starts
      ? await all.lease(request, "", askerOf(caller))
      : all.open(request.name);
    const env = Object.entries(session.env).filter((one): one is [string, string] => one[1] !== undefined);
    return { env: Object.fromEntries(env), before: [...session.as([])], lock_file: lockFile };
  },
});

export const operations = [listDesktops, showDesktop, startDesktop, stopDesktop, enterDesktop];
