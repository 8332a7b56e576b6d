/** `standby`: this machine is the desk that it was, its standbys follow it, and it follows the desk whose standby it is. */
import { check, failed, fine, warning } from "../check";

interface Uses {
  /** Null where this host is no desk with standbys, and no standby. */
  standbyNow(): Promise<{
    readonly taken_over: { readonly by: string; readonly since: string } | null;
    readonly standbys: ReadonlyArray<{
      readonly name: string;
      readonly silent_s: number;
      readonly from: ReadonlyArray<{
        readonly address: string;
        readonly asked_s: number;
        readonly proved: boolean;
      }>;
    }>;
    readonly following: {
      readonly desk: string;
      readonly snapshot: string | null;
      readonly silent_s: number | null;
      readonly fault: string | null;
      readonly begun: string | null;
      readonly taken_over: string | null;
    } | null;
    readonly beyond: { readonly host: string; readonly generation: number } | null;
  } | null>;
}

/** Who was silent for so long is late, in seconds. */
const LATE_S = 60;

export const standby = check({
  name: "standby",
  summary:
    "No standby has taken this desk over; a warning where a standby, or the desk that this host follows, has said nothing for a minute, or a standby asks from two addresses",
  advice: ["svc standby show"],
  async run(service: Uses) {
    const now = await service.standbyNow();
    if (!now) return fine("no standby of a desk, and no desk with one", { late: [] });
    const { taken_over, standbys, following, beyond } = now;
    if (taken_over)
      return failed(`the standby ${taken_over.by} has taken this desk over at ${taken_over.since}`, [
        "use that desk: this one sends nothing to hosts",
        "svc standby reinstate, where this is to be the desk again: end the server of the other first",
      ]);
    if (beyond)
      return failed(
        `${beyond.host} has heard of generation ${beyond.generation}, which no standby of this desk can have: somebody has its key`,
        ["svc config set-aside desk_key, then svc join again on each host: the key is in other hands"],
      );
    if (following?.begun)
      return failed(`a take-over from the desk at ${following.desk} was cut off`, [
        "svc standby take-over, again: until then this host acts as no desk",
      ]);
    const late = standbys.filter(({ silent_s }) => silent_s > LATE_S).map(({ name }) => name);
    if (late.length > 0)
      return warning(
        `standbys that do not follow this desk: ${late.join(", ")}`,
        ["look at the log of the server there"],
        { late },
      );
    for (const { name, from } of standbys) {
      const now = from.filter(({ proved, asked_s }) => proved && asked_s <= LATE_S);
      if (now.length > 1)
        return warning(
          `the standby ${name} asks from ${now.map(({ address }) => address).join(" and ")}`,
          [`svc standby remove ${name}, where it did not move just now: two machines have its key`],
          { late: [] },
        );
    }
    if (following?.taken_over === null && ((following.silent_s ?? 0) > LATE_S || following.fault !== null))
      return warning(
        `the desk at ${following.desk} does not answer (${following.fault ?? "silent"}): the newest snapshot is of ${following.snapshot ?? "never"}`,
        ["svc standby take-over, where that desk is gone"],
        { late: [following.desk] },
      );
    return fine(
      following
        ? following.taken_over === null
          ? `follows the desk at ${following.desk}: the newest snapshot is of ${following.snapshot ?? "never"}`
          : `has taken over from ${following.desk} at ${following.taken_over}`
        : `standbys of this desk: ${standbys.map(({ name }) => name).join(", ") || "none"}`,
      { late: [] },
    );
  },
});
