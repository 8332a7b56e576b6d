/**
 * Which screens of the fleet differ from the others. Each host has limits and a log of its own.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { between, field, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { shareOf } from "../../../core/rights";
import { printable } from "../../../lib/sanitize";
import type { AddressBook } from "../address-book";
import type { Host } from "../host";
import { SELECTION, WHICH } from "../operations/broadcast-input";
import { ODD_HOST, type OddHost } from "./rows";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "select" | "reach">>;
  oddLooks(): Promise<OddLooks>;
}

/** Looks for screens that differ. */
export interface OddLooks {
  /** Puts on record that a caller compares screens. */
  onRecord(caller: Caller, subject: string): Promise<void>;
  /** What is found of the hosts, those that stand out first. */
  look(
    book: Pick<AddressBook, "reach">,
    hosts: readonly Host[],
    how: {
      readonly on: string;
      readonly concurrency: number;
      readonly timeoutMs: number;
      readonly client: string | null;
      readonly signal: AbortSignal;
      asked?(): void;
    },
  ): Promise<OddHost[]>;
}

export const findOdd = operation({
  name: "admin.odd",
  onHosts: true,
  summary: "Show which screens of hosts differ from the others with the same tag, and why",
  scope: "screen",
  asksFirst: true,
  reveals: "announces",
  command: "AC_admin_odd",
  http: { method: "POST", path: "/admin/odd", repeatable: true, routine: true },
  example: { on: "tag:kiosk" },
  input: v.strictObject({
    on: field(
      v.optional(SELECTION, "all"),
      `${WHICH}. Tags that it names are those by which hosts are compared`,
    ),
    concurrency: field(
      v.optional(whole(1, 1_000), 64),
      "Hosts to ask at once, at each NATS server; slow hosts stop counting",
    ),
    timeout_s: field(v.optional(seconds(between(0.1, 300)), 10), "Time limit for each host, in seconds"),
  }),
  output: v.object({
    /** Those that stand out first. */
    hosts: v.array(ODD_HOST),
    count: v.number(),
    /** How many stand out. */
    odd: v.number(),
  }),
  async run(service: Uses, { on, concurrency, timeout_s }, caller) {
    const { signal, progress, grant } = caller;
    const book = await service.addressBook();
    const selected = on === "all" ? book.hosts() : await book.select(on);
    const looks = await service.oddLooks();
    const which = printable(JSON.stringify(on), 200);
    await looks.onRecord(caller, `admin.odd on=${which}: compares the screens of hosts`);
    let done = 0;
    const hosts = await looks.look(book, selected, {
      on,
      concurrency,
      timeoutMs: timeout_s * 1_000,
      client: shareOf(grant),
      signal,
      asked: () => void progress?.({ what: "screens compared", done: ++done, total: selected.length }),
    });
    return { hosts, count: hosts.length, odd: hosts.filter(({ state }) => state === "odd").length };
  },
});

export const operations = [findOdd];
