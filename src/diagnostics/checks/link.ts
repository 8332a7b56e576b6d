/** `link`: a host that has joined a desk over a link has that link. */
import { check, failed, fine, warning } from "../check";

/** How long a host may be without its link before that is a failure, in milliseconds: it dials again within a minute. */
const PATIENCE_MS = 5 * 60_000;

/** The link of this host to its desk. */
interface HostLink {
  readonly desk: string;
  readonly state: string;
  readonly since: string | null;
  readonly problem: string | null;
  readonly dials: number;
  /** Since when there is no link. */
  readonly lost: string | null;
  readonly twin: string | null;
}

interface Uses {
  hostLink(): Promise<HostLink | null>;
  runningServer(): { link(): Promise<HostLink | null> } | null;
  /** Null where this host has joined no desk. */
  membership(): Promise<{ readonly carriers: ReadonlyArray<{ readonly kind: string }> } | undefined>;
}

export const link = check({
  name: "link",
  summary:
    "A host that has joined a desk over a link has that link; a warning for the first 5 minutes without it, and for two hosts with one identity",
  advice: ["svc link", "svc desk show"],
  async run(service: Uses) {
    const joined = await service.membership();
    if (!joined) return fine("this host has joined no desk", { joined: false });
    if (!joined.carriers.some(({ kind }) => kind === "link"))
      return fine("the desk reaches this host: it has no link", { joined: true, link: false });
    const server = service.runningServer();
    const now = await (server ?? { link: service.hostLink }).link();
    return now
      ? judgeLink(now, server !== null, Date.now())
      : fine("this host has left its desk", { joined: false });
  },
});

/** @param serves whether a server runs here, which keeps the link. */
export function judgeLink(now: HostLink, serves: boolean, at: number) {
  const { desk, state, since, problem, lost, twin, dials } = now;
  const extra = {
    joined: true,
    link: state === "linked",
    ...{ desk, state, since, problem, lost, twin, dials },
  };
  if (!serves) {
    return warning(
      `no server runs here, which keeps the link to ${desk}`,
      ["svc service install, or svc serve"],
      extra,
    );
  }
  if (twin !== null) {
    const advice = ["on one of the two: `svc leave`, remove `host_key`, then `svc join` with a new string"];
    return warning(
      `another host, at ${twin}, has the identity of this one: only one of them is linked`,
      advice,
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
