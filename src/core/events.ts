/**
 * What an event is: something that happened on this host, for those who would otherwise ask again and again. A feature
 * declares its types in its own `events.ts` and publishes them where it makes the change; the list is in `operations.ts`.
 */
import type * as v from "valibot";
import type { Need, Origin } from "./rights";

/** The host of the address book that an event is about. */
export interface EventHost {
  readonly label: string;
  /** Set where it is in the address book no more: who knew it may see that. */
  readonly isGone?: true;
}

/** One type of event. */
export interface EventType<D extends v.GenericSchema = v.GenericSchema> {
  /** `subject.what-happened`, unique: `run.ended`. */
  readonly name: string;
  /** One line for the reference, without a full stop. */
  readonly summary: string;
  /** What a token must allow to receive it: that of the operation that answers with the same. */
  readonly scope: Need;
  /** Its data: one object, at most 4 KiB as JSON, without secrets. */
  readonly data: D;
  /** Who made what it is about, where only that token and `admin` may see it (`maySee`); null where the data does not say. */
  readonly origin?: ((data: Readonly<Record<string, unknown>>) => Origin | null) | undefined;
  /**
   * The host that it names: who is for some hosts alone (`Grant.on`) sees it of those. Null where it may be any: they do not see it;
   * undefined where it names none.
   */
  readonly host?: ((data: Readonly<Record<string, unknown>>) => EventHost | null | undefined) | undefined;
}

/** {@link EventType.host} of data with a `label`. */
export const hostOfLabel = ({ label }: Readonly<Record<string, unknown>>): EventHost => ({
  label: String(label),
});

/** Gives a literal definition its types and returns it. */
export function eventType<const D extends v.GenericSchema>(definition: EventType<D>): EventType<D> {
  return definition;
}

/** Publishes an event to all listeners. Never throws and waits for nobody. */
export type Publish = <D extends v.GenericSchema>(type: EventType<D>, data: v.InferInput<D>) => void;

/** The events of this process, by their numbers. */
export interface EventFeed {
  readonly newest: number;
  at(seq: number): { readonly type: Pick<EventType, "name">; readonly text: string } | undefined;
  /** Calls `listener` when there are new events. @returns what ends that. */
  listen(listener: () => void): () => void;
}

/**
 * @param missed is called for each event that is kept no longer: nobody can say which it was.
 * @returns what gives the data of each event of these names since it was asked last, at first since now.
 */
export function newEvents<D>(
  events: EventFeed,
  names: readonly string[],
  missed = () => {},
): () => Generator<D, void> {
  let seen = events.newest;
  return function* () {
    for (; seen < events.newest; seen++) {
      const one = events.at(seen + 1);
      if (!one) missed();
      else if (names.includes(one.type.name)) yield JSON.parse(one.text);
    }
  };
}

/** For a feature that is made where nobody listens. */
export const unheard: Publish = () => {};
