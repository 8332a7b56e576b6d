/** `nats`: a host that is reached over NATS, and a desk that reaches hosts so, are connected to their server. */
import { check, type Finding, failed, fine, warning } from "../check";

/** How long there may be no connection before that is a failure, in milliseconds: it is tried again within a minute. */
const PATIENCE_MS = 5 * 60_000;

interface Connection {
  readonly urls: readonly string[];
  readonly state: string;
  readonly since: string | null;
  readonly problem: string | null;
  readonly attempts: number;
  /** Since when there is no connection. */
  readonly lost: string | null;
  /** Of a desk: hosts of which two machines have the key. */
  readonly twins?: readonly string[];
  /** Of a desk: why nats.json as it is now cannot be used. */
  readonly fault?: string | null;
  /** Of a desk: the servers of its regions. */
  readonly regions?: ReadonlyArray<Connection & { readonly region: string }>;
}

interface Uses {
  runningServer(): {
    nats(): Promise<{ readonly host: Connection | null; readonly desk: Connection | null }>;
  } | null;
  /** How this host is connected, where no server runs. */
  natsHost(): Promise<Connection | null>;
}

export const nats = check({
  name: "nats",
  summary:
    "A host that its desk reaches over NATS, and a desk that reaches hosts so, are connected to the server; a warning for the first 5 minutes without",
  advice: ["svc nats show"],
  async run(service: Uses) {
    const server = service.runningServer();
    const now = server ? await server.nats() : { host: await service.natsHost(), desk: null };
    const found = [
      now.host && judge(now.host, server !== null, "host"),
      now.desk && judge(now.desk, true, "desk"),
      now.desk && judgeFile(now.desk),
      ...(now.desk?.regions ?? []).map((one) => judge(one, true, "desk", undefined, one.region)),
    ];
    const [first, ...rest] = found.filter((one) => one !== null);
    if (!first) return fine("neither this host nor its hosts are reached over NATS", { nats: false });
    return rest.reduce(worse, first);
  },
});

/**
 * @param serves whether a server runs here, which keeps the connection.
 * @param region of the server, where it is not the first.
 */
export function judge(
  now: Connection,
  serves: boolean,
  role: "host" | "desk",
  at = Date.now(),
  region?: string,
): Finding {
  const { urls, state, since, problem, attempts, lost, twins = [] } = now;
  const name = region === undefined ? role : `${role} ${region}`;
  const extra = { [name]: { urls, state, since, problem, attempts, lost }, nats: state === "connected" };
  const where = `${urls.join(", ") || "its server"}${region === undefined ? "" : ` (region ${region})`}`;
  if (!serves) {
    return warning(
      `no server runs here, which keeps the connection to ${where}`,
      ["svc service install, or svc serve"],
      extra,
    );
  }
  if (state === "connected" && twins.length > 0) {
    const advice = [
      "on the copy: `svc leave`, `svc config set-aside nats_key`, `svc config set-aside host_key`, and join again",
    ];
    return warning(`two machines are connected with one key: ${twins.join(", ")}`, advice, extra);
  }
  if (state === "connected") return fine(`as a ${role} connected to ${where} since ${since}`, extra);
  if (state === "off" && problem === null)
    return fine(`as a ${role} not connected to ${where}: nothing needed it`, extra);
  const detail = `as a ${role} not connected to ${where}${lost === null ? "" : ` since ${lost}`}: ${problem ?? "it does not answer yet"}`;
  const isLong = lost !== null && at - Date.parse(lost) > PATIENCE_MS;
  const advice =
    role === "desk"
      ? ["is the server on? svc nats test URL"]
      : [
          "is the server on, and may this host connect to it?",
          "if it refuses the credentials: svc leave, then svc join again",
        ];
  return (isLong || state === "off" ? failed : warning)(detail, advice, extra);
}

/** Null where there is nothing to say of nats.json that {@link judge} does not. */
function judgeFile({ fault = null, problem }: Connection): Finding | null {
  if (fault === null || fault === problem) return null;
  const detail = `${fault}; the connections of this desk are those of before, and end with this server`;
  return failed(detail, ["svc nats show"], { nats: true });
}

const RANK = { info: 0, warn: 1, error: 2 };

const worse = (one: Finding, other: Finding): Finding => {
  const [worst, better] = RANK[other.severity] > RANK[one.severity] ? [other, one] : [one, other];
  return {
    ...worst,
    detail: `${worst.detail}; ${better.detail}`,
    extra: { ...better.extra, ...worst.extra, nats: Boolean(worst.extra.nats && better.extra.nats) },
  };
};
