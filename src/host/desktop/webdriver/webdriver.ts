/**
 * WebDriver for programs on a desktop (W3C WebDriver, https://www.w3.org/TR/webdriver2/): commands by their method and path.
 */
import { callOperation } from "../../../core/call";
import { type Caller, requesterOf } from "../../../core/caller";
import type { DesktopRequest } from "../../../core/desktop-request";
import type { Operation } from "../../../core/operation";
import { allows, beyond, type Grant, notPermitted, type Permission } from "../../../core/rights";
import { failureOf, forbidden, messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { orElse } from "../../../lib/or-else";
import { version } from "../../../version";
import type { Elsewhere, Request } from "../../../wire/webdriver/endpoint";
import { type Answer, answerTo, failing } from "../../../wire/webdriver/errors";
import type { Desktop } from "../desktop";
import type { Programs } from "../programs";
import { waitForTitle } from "../windows";
import { type Capabilities, CURRENT, capabilitiesIn, PLATFORM } from "./capabilities";
import type { Call, Command } from "./command";
import { elementCommands } from "./element-commands";
import { sessionCommands } from "./session-commands";
import { createSessions, type Session, type SessionDesktop } from "./sessions";

/** What sessions use of the service. */
interface WebdriverUses {
  readonly log: Log;
  desktop(): Promise<Desktop>;
  /** A desktop of its own for a session, or one that is kept under a name. @throws where the host has none to give. */
  leaseDesktop(
    request: DesktopRequest,
    session: string,
    grant: Grant,
    signal: AbortSignal,
  ): Promise<SessionDesktop & { end(): Promise<void> }>;
  programs(): Promise<Programs>;
  permits(need: Permission): boolean;
  /**
   * Runs a list of actions, or the stored script of that name.
   *
   * @param desktop the name of that of the session, where it has one of its own.
   * @returns its report.
   */
  execute(what: unknown, caller: Caller, desktop?: string): Promise<unknown>;
  /** Sessions on hosts of the address book. */
  readonly elsewhere: Elsewhere;
}

/** The WebDriver of this process. */
export interface Webdriver {
  /** Never throws. */
  answer(request: Request, caller: Caller): Promise<Answer>;
  stop(): Promise<void>;
}

/** How long a program may take to show its first window, in seconds. */
const STARTING_S = 30;

const COMMANDS: readonly Command[] = [...elementCommands, ...sessionCommands];

interface Pattern {
  readonly pattern: RegExp;
  readonly command: Command;
}

export function createWebdriver(service: WebdriverUses): Webdriver {
  const { log, elsewhere } = service;
  const sessions = createSessions(log);
  const patterns: Pattern[] = COMMANDS.map((command) => ({
    command,
    pattern: new RegExp(`^${command.path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
  }));

  const create = async (body: unknown, caller: Caller) => {
    if (!allows(caller.grant, "screen")) throw forbidden(beyond(caller.grant, "a session needs screen"));
    const capabilities = capabilitiesIn(body);
    const label = capabilities["svc:host"];
    if (label !== undefined) return elsewhere.create(label, body, caller);
    const session = sessions.create(capabilities, caller);
    try {
      await start(service, session, caller);
    } catch (error) {
      await sessions.end(session.id, caller.grant).catch(() => {});
      const failure = failureOf(error);
      throw failure ? failing("session not created", failure.message) : error;
    }
    return { sessionId: session.id, capabilities: offered(session) };
  };

  const perform = async ({ method, path, body }: Request, caller: Caller): Promise<unknown> => {
    if (path === "/status" && method === "GET")
      return { ready: true, message: `svc ${version} drives this desktop` };
    if (path === "/session" && method === "POST") return create(body, caller);
    const id = /^\/session\/([^/]+)/.exec(path)?.[1] ?? "";
    if (path === `/session/${id}` && method === "DELETE") {
      await sessions.end(id, caller.grant);
      return null;
    }
    const matching = patterns.filter(({ pattern }) => pattern.test(path));
    const found = matching.find(({ command }) => command.method === method);
    if (!found) {
      const error = matching.length > 0 ? "unknown method" : "unknown command";
      throw failing(error, `svc has no ${method} of this path`);
    }
    const session = sessions.use(id, caller.grant);
    const desktop = session.desktop?.desktop ?? (await service.desktop());
    const look = { desktop: desktop.turnsOf(requesterOf(caller)), session, caller };
    const call: Call = { look, execute: (what) => service.execute(what, caller, session.desktop?.name) };
    const { operation } = found.command;
    requireDesktop(session);
    try {
      const fields = fieldsOf(operation, found.pattern.exec(path)?.groups, body);
      return await callOperation(call, operation, fields, caller);
    } catch (error) {
      requireDesktop(session);
      throw error;
    }
  };

  return {
    async answer(request, caller) {
      try {
        const id = /^\/session\/([^/]+)/.exec(request.path)?.[1];
        if (id !== undefined && elsewhere.has(id)) return await elsewhere.ask(id, request, caller);
        return { status: 200, value: (await perform(request, caller)) ?? null };
      } catch (thrown) {
        const answer = answerTo(thrown);
        if (answer) return answer;
        log.error(`WebDriver failed: ${messageOf(thrown)}`, thrown);
        return { status: 500, value: { error: "unknown error", message: "internal error", stacktrace: "" } };
      }
    },
    async stop() {
      await sessions.stop();
    },
  };
}

/** @throws `no such window` once the desktop of the session has ended. */
function requireDesktop({ desktop }: Session): void {
  if (desktop?.lost.aborted)
    throw failing(
      "no such window",
      `the desktop of this session has ended: ${messageOf(desktop.lost.reason)}`,
    );
}

/** The fields that a command knows, of its path and body: clients send others as well. */
function fieldsOf({ input }: Operation, inPath: Readonly<Record<string, string>> = {}, body: unknown) {
  const known = new Set(Object.keys(input.entries));
  const given = typeof body === "object" && body !== null && !Array.isArray(body) ? body : {};
  const named = Object.entries(inPath).map(([name, value]) => [name, decoded(value)] as const);
  return Object.fromEntries([...Object.entries(given), ...named].filter(([name]) => known.has(name)));
}

const decoded = (text: string): string => orElse(() => decodeURIComponent(text), text);

/** Starts the program of a session, and makes its first window that of the session. */
async function start(service: WebdriverUses, session: Session, caller: Caller): Promise<void> {
  const { "svc:app": command, "svc:cwd": cwd, "svc:desktop": wanted } = session.capabilities;
  if (wanted !== undefined && wanted !== CURRENT) {
    if (!allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "svc:desktop starts a desktop and needs operate"));
    const lease = await service.leaseDesktop(wanted, session.id, caller.grant, caller.signal);
    session.desktop = lease;
    session.atEnd(lease.end);
  }
  if (command === undefined) return;
  const { grant } = caller;
  if (!allows(grant, "admin")) throw forbidden(beyond(grant, "svc:app starts a program and needs admin"));
  if (!service.permits("shell")) throw notPermitted("svc:app", "shell");
  // Its digest alone: command lines hold secrets.
  await caller.announce(
    `webdriver.start args=sha256:${Bun.SHA256.hash(JSON.stringify({ command, cwd }), "hex")}`,
  );
  const launch = { command, cwd, detach: false };
  const pid = await (await service.programs()).launch(launch, session, session.desktop?.session);
  const desktop = session.desktop?.desktop ?? (await service.desktop());
  const query = { process: pid, timeout: STARTING_S, poll: 0.1, case_sensitive: false };
  session.window = await waitForTitle(desktop, query, requesterOf(caller));
}

function offered({ capabilities, timeouts }: Session): Capabilities & Record<string, unknown> {
  return {
    ...capabilities,
    browserName: "svc",
    browserVersion: version,
    platformName: PLATFORM,
    acceptInsecureCerts: false,
    pageLoadStrategy: "none",
    setWindowRect: true,
    strictFileInteractability: false,
    timeouts: { ...timeouts },
    unhandledPromptBehavior: "ignore",
  };
}
