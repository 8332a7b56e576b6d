/** `witness`: the audit logs of hosts that have joined this desk are what they were. */
import { check, failed, fine, warning } from "../check";

interface Uses {
  addressBook(): Promise<{
    hosts(): ReadonlyArray<{
      readonly label: string;
      readonly member?: { readonly host_id: string } | undefined;
    }>;
  }>;
  foundLogs(): Promise<
    ReadonlyMap<
      string,
      {
        readonly label: string;
        /** When it left this desk; null while it has joined. */
        readonly left: string | null;
        readonly state: string;
        readonly standing: "good" | "broken" | "quiet" | "unseen";
      }
    >
  >;
}

/** How many hosts are named in the detail. */
const NAMED = 5;

export const witness = check({
  name: "witness",
  summary:
    "The audit logs of hosts that have joined this desk are what they were; a warning for those that are late, silent or were never seen",
  advice: ["svc admin witness"],
  async run(service: Uses) {
    const found = await service.foundLogs();
    if (found.size === 0) return fine("no audit log of another host is watched here", { logs: 0 });
    const joined = (await service.addressBook()).hosts().flatMap(({ label, member }) => {
      const log = member && found.get(member.host_id);
      return log ? [{ label, state: log.state, standing: log.standing }] : [];
    });
    const gone = [...found.values()].flatMap(({ left, label, state, standing }) =>
      left === null ? [] : [{ label, state: `${state}, has left`, standing }],
    );
    const hosts = [...joined, ...gone];
    const named = (wanted: string) =>
      hosts.filter(({ standing }) => standing === wanted).map(({ label, state }) => `${label} (${state})`);
    const [broken, quiet, unseen] = [named("broken"), named("quiet"), named("unseen")];
    const extra = { logs: hosts.length, broken, quiet, unseen };
    const list = (some: readonly string[]) =>
      `${some.slice(0, NAMED).join(", ")}${some.length > NAMED ? ", …" : ""}`;
    if (broken.length > 0) {
      return failed(
        `${broken.length} of ${hosts.length} audit logs are not what they were: ${list(broken)}`,
        [
          "svc admin witness: why; find out who had access to the host before anything is changed there",
          "svc admin witness-restore LABEL --reason …: only where you have restored its log yourself",
        ],
        extra,
      );
    }
    const missing = [...quiet, ...unseen];
    if (missing.length === 0) return fine(`${hosts.length} audit logs of hosts are watched`, extra);
    const update =
      "a host with an older svc has no log to witness: update it; one with --no-audit keeps none";
    return warning(
      `nothing new of ${missing.length} of ${hosts.length} audit logs: ${list(missing)}`,
      ["svc admin witness: why", ...(unseen.length > 0 ? [update] : [])],
      extra,
    );
  },
});
