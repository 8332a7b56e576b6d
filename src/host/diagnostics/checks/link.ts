/** `link`: a host that has joined a desk over a link has that link. */
import type { HostLink } from "../../../wire/link/links";
import { check, failed, fine, warning } from "../check";

/** How long a host may be without its link before that is a failure, in milliseconds: it dials again within a minute. */
const PATIENCE_MS = 5 * 60_000;

type Link = Pick<HostLink, "desk" | "state" | "since" | "problem" | "dials" | "lost" | "twin">;

interface Uses {
  hostLink(): Promise<Link | null>;
  runningServer(): { link(): Promise<Link | null> } | null;
  /** Null where this host has joined no desk. */
  membership(): Promise<
    { readonly carriers: ReadonlyArray<{ readonly kind: string }>; readonly token: string } | undefined
  >;
  tokens(): Promise<{ list(): Tokens }>;
}

type Tokens = ReadonlyArray<{ readonly name: string; readonly expires: string | null }>;

export const link = check({
  name: "link",
  summary:
    "A host that has joined a desk over a link has that link; a warning for the first 5 minutes without it, for two hosts with one identity, and for a desk whose token has ended",
  advice: ["svc link", "svc desk show"],
  async run(service: Uses) {
    const joined = await service.membership();
    if (!joined) return fine("this host has joined no desk", { joined: false });
    if (!joined.carriers.some(({ kind }) => kind === "link"))
      return fine("the desk reaches this host: it has no link", { joined: true, link: false });
    const server = service.runningServer();
    const now = await (server ?? { link: service.hostLink }).link();
    if (!now) return fine("this host has left its desk", { joined: false });
    const at = Date.now();
    const ended = endOf(joined.token, (await service.tokens()).list(), at);
    return judgeLink(now, server !== null, at, ended);
  },
});

/** How the token of the desk ended; null for one that works. */
function endOf(name: string, all: Tokens, at: number): string | null {
  const found = all.find((token) => token.name === name);
  if (!found) return `${name} was revoked`;
  return found.expires !== null && Date.parse(found.expires) <= at ? `${name} has expired` : null;
}

/**
 * @param serves whether a server runs here, which keeps the link.
 * @param ended how the token of the desk ended; null for one that works.
 */
export function judgeLink(now: Link, serves: boolean, at: number, ended: string | null = null) {
  const { desk, state, since, problem, lost, twin, dials } = now;
  const extra = { joined: true, link: state === "linked", desk, state, since, problem, lost, twin, dials };
  if (!serves) {
    return warning(
      `no server runs here, which keeps the link to ${desk}`,
      ["svc service install, or svc serve"],
      extra,
    );
  }
  if (twin !== null) {
    const advice = [
      "on one of the two: `svc leave`, `svc config set-aside host_key`, then `svc join` with a new string",
    ];
    return warning(
      `another host, at ${twin}, has the identity of this one: only one of them is linked`,
      advice,
      extra,
    );
  }
  if (state === "linked" && ended !== null) {
    return warning(
      `linked to ${desk}, which may do nothing here: its token ${ended}`,
      ["to let the desk in again: `svc leave`, then `svc join` with a new string"],
      extra,
    );
  }
  if (state === "linked") return fine(`linked to ${desk} since ${since}`, extra);
  const detail = `not linked to ${desk} since ${lost}: ${problem ?? "it does not answer yet"}`;
  const isLong = lost !== null && at - Date.parse(lost) > PATIENCE_MS;
  const advice = [
    "is the desk on, and does `svc serve --hub` run there?",
    "docs/troubleshooting.md: a host is not linked",
  ];
  return (isLong ? failed : warning)(detail, advice, extra);
}
