/**
 * The seat of a Wayland compositor: which devices it has, and when programs have taken notice of a new one.
 */
import { sleep } from "../../../lib/deadline";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";

/** `wl_seat.capability` */
const CAPABILITY = { pointer: 1, keyboard: 2 } as const;

/**
 * How long programs have to bind a device of a kind that the seat did not have, in milliseconds. Each learns of it at the same time and
 * tells nobody when it is ready; what comes before is lost. A seat with a mouse and a keyboard of its own never waits.
 */
const NOTICE_MS = 300;

/** The devices of a person. */
export interface Seat {
  readonly object: WaylandObject<"wl_seat">;
  /** Resolves when a device of this kind, which `make` adds, reaches programs. */
  adding<T>(kind: keyof typeof CAPABILITY, make: () => T | Promise<T>): Promise<T>;
  has(kind: keyof typeof CAPABILITY): boolean;
}

/** @throws `unavailable` where the compositor has no seat. */
export async function openSeat(connection: WaylandConnection): Promise<Seat> {
  const object = connection.bind("wl_seat") ?? (await madeSeat(connection));
  if (!object) throw connection.lacks("wl_seat", "there is no pointer and no keyboard");
  let capabilities = 0;
  object.on({
    capabilities(bits) {
      capabilities = bits;
    },
  });
  await connection.roundTrip();
  const has: Seat["has"] = (kind) => (capabilities & CAPABILITY[kind]) !== 0;
  return {
    object,
    has,
    async adding(kind, make) {
      const isNew = !has(kind);
      const made = await make();
      await connection.roundTrip();
      if (isNew) await sleep(NOTICE_MS, undefined);
      return made;
    },
  };
}

/**
 * A compositor makes its seat with the first device, where it has none of its own (phoc on a host without any): a pointer that names no seat is one.
 *
 * @returns undefined where there is no seat all the same.
 */
async function madeSeat(connection: WaylandConnection): Promise<WaylandObject<"wl_seat"> | undefined> {
  connection.bind("zwlr_virtual_pointer_manager_v1")?.make("create_virtual_pointer", null);
  await connection.roundTrip();
  return connection.bind("wl_seat");
}

/** The time of an event, in milliseconds: only differences count. */
export const eventTime = (): number => Math.floor(performance.now()) >>> 0;
