/**
 * The live screen for programs on this machine: any VNC viewer, and the browser.
 */
import * as v from "valibot";
import type { RemoteServer } from "../../../../client/carrier";
import { AT_DESKTOP } from "../../../../core/desktop-request";
import { field, flag, LABEL, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { unavailable } from "../../../../lib/errors";
import { isIP } from "../../../../lib/is-ip";
import type { Log } from "../../../../lib/log";
import type { ScreenPeers } from "../../../peers/screen-peers";
import { PASSWORD_LENGTH } from "../vnc-password";

export interface ProxyUses {
  readonly configDir: string;
  readonly log: Log;
  addressBook(): Promise<{ server(label: string): RemoteServer }>;
  screenPeers(): Promise<ScreenPeers>;
  /** Keeps it until the service is stopped. */
  keepScreenProxy(proxy: { stop(): Promise<void> }): void;
}

/** `127.0.0.1:5900`, `[::1]:5900`, `5900`. */
const LISTEN = v.pipe(
  v.string(),
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const [, , bracketed, plain, digits] =
      /^((?:\[([0-9a-f:.]+)\]|([0-9.]+)):)?(\d{1,5})$/i.exec(value) ?? [];
    const address = bracketed ?? plain ?? "127.0.0.1";
    const port = Number(digits);
    if (digits !== undefined && isIP(address) > 0 && port <= 65_535) return { address, port };
    addIssue({ message: "ADDRESS:PORT, such as 127.0.0.1:5900, or a port" });
    return NEVER;
  }),
);

const HOST = field(v.optional(LABEL), "Label of the host in the address book; without one, this host");

const HERE = "it is for a viewer on this machine, and ends with the process";

export const proxyScreen = operation({
  name: "screen.proxy",
  summary: "Listen for VNC viewers, and show them the screen of a host",
  // Whoever connects has no token.
  scope: "admin",
  acts: true,
  leftOut: { http: HERE, script: HERE },
  input: v.strictObject({
    host: HOST,
    listen: field(
      v.optional(LISTEN, "127.0.0.1:5900"),
      "Address and port to listen on; port 0 picks a free one",
    ),
    control: flag("Let the viewers use pointer and keyboard"),
    desktop: AT_DESKTOP,
    password: field(
      v.optional(
        secret(
          v.pipe(
            v.string(),
            v.regex(/^[\x21-\x7e]*$/, "letters, digits and signs of ASCII"),
            v.minLength(PASSWORD_LENGTH.least),
            v.maxLength(PASSWORD_LENGTH.most, "at most 8 characters: a VNC viewer uses no more"),
          ),
        ),
      ),
      "Password of 6 to 8 characters that a viewer must give (default: none). It is weak: use it besides a network that you trust",
    ),
  }),
  output: v.object({
    host: v.nullable(v.string()),
    address: v.string(),
    port: v.number(),
    control: v.boolean(),
    /** Whether viewers have to give a password. */
    asks_password: v.boolean(),
  }),
  async run(service: ProxyUses, { host = null, listen, control, desktop, password }) {
    const [{ startProxy }, { openScreen }, { localServer }] = await Promise.all([
      import("../carry/proxy"),
      import("../carry/open"),
      import("../../../../client/local-server"),
    ]);
    const book = await service.addressBook();
    // Its address, its token and the server of this host may change meanwhile.
    const server = () => (host === null ? localServer(service.configDir) : book.server(host));
    server();
    const proxy = await startProxy(
      listen,
      host ?? "this host",
      async (signal) => (await openScreen(server(), { control, desktop }, service.screenPeers, signal)).bytes,
      service.log,
      password,
    );
    service.keepScreenProxy(proxy);
    return { host, address: proxy.address, port: proxy.port, control, asks_password: password !== undefined };
  },
});

interface OpenUses extends Pick<ProxyUses, "addressBook"> {
  /** The server that runs here; null when none does. */
  runningServer(): { readonly url: string } | null;
}

/** What follows the address of a server, for the page with the live screen of a host, or of its own; the desktop is one of those on demand. */
export function livePage({
  host,
  desktop,
}: {
  readonly host?: string | undefined;
  readonly desktop?: string | undefined;
}): string {
  const at = desktop === undefined ? "" : `:${desktop}`;
  const page = host === undefined && at === "" ? "live" : `live:${encodeURIComponent(host ?? "")}${at}`;
  return `/dashboard/#${page}`;
}

export const openScreenPage = operation({
  name: "screen.open",
  summary: "Open the live screen of a host in the browser",
  scope: "screen",
  asksFirst: true,
  acts: true,
  leftOut: { http: "a page is there already", script: "it is for a person at this machine" },
  input: v.strictObject({ host: HOST, desktop: AT_DESKTOP }),
  output: v.object({ url: v.string(), opened: v.boolean() }),
  async run(service: OpenUses, { host, desktop }) {
    if (host !== undefined) (await service.addressBook()).server(host);
    const running = service.runningServer();
    if (!running) throw unavailable("no server runs here that has the page: start one with `svc serve`");
    const url = running.url + livePage({ host, desktop });
    const { openInBrowser } = await import("../../../../lib/open-browser");
    return { url, opened: await openInBrowser(url) };
  },
});

export const operations = [proxyScreen, openScreenPage];
