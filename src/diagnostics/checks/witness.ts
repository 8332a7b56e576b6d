/** `witness`: the audit logs of hosts that have joined this desk are what they were. */
import { check, failed, fine, warning } from "../check";

interface Uses {
  addressBook(): Promise<{
    hosts(): ReadonlyArray<{
      readonly label: string;
      readonly member?: { readonly host_id: string } | undefined;
    }>;
  }>;
  foundLogs(): Promise<ReadonlyMap<string, { readonly state: string }>>;
}

const BROKEN = ["shrank", "forked", "key_changed"];
const QUIET = ["late", "silent"];

/** How many hosts are named in the detail. */
const NAMED = 5;

export const witness = check({
  name: "witness",
  summary:
    "The audit logs of hosts that have joined this desk are what they were; a warning for those that are late or silent",
  advice: ["svc admin witness"],
  async run(service: Uses) {
    const found = await service.foundLogs();
    if (found.size === 0) return fine("no audit log of another host is watched here", { logs: 0 });
    const hosts = (await service.addressBook()).hosts().flatMap(({ label, member }) => {
      const state = member && found.get(member.host_id)?.state;
      return state === undefined ? [] : [{ label, state }];
    });
    const named = (states: readonly string[]) =>
      hosts.filter(({ state }) => states.includes(state)).map(({ label, state }) => `${label} (${state})`);
    const [broken, quiet] = [named(BROKEN), named(QUIET)];
    const extra = { logs: hosts.length, broken, quiet };
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
    if (quiet.length === 0) return fine(`${hosts.length} audit logs of hosts are watched`, extra);
    return warning(
      `nothing new of ${quiet.length} of ${hosts.length} audit logs: ${list(quiet)}`,
      ["svc admin witness: why"],
      extra,
    );
  },
});
