/** What screens of a group have, and lack: windows, programs, texts. */
import type { Item, PreparedScreen } from "./prepared";
import { createRareSums, type RareSums } from "./standing";

/** How many screens are looked at in one piece: about a millisecond. */
const PIECE = 100;
/** And how many keys. */
const KEYS = 5_000;
/** What at least this share of the screens has, a screen can lack. */
const COMMON = 0.75;

/** A key, and how many screens have it. */
type KeyCount = readonly [key: string, many: number];

/** What a screen has that others lack, or the other way round. */
interface OddItem {
  readonly shown: string;
  /** How many of the others have it. */
  readonly count: number;
}

/** One kind of item, of the screens of a group: a value for each, NaN where it is not known. */
export interface ItemsFound {
  /** How many screens are known. */
  readonly known: number;
  /** What a screen has: by how rare it is all together, the share of the others that have the rarest of it (2 for nothing), and what that is. */
  readonly extra: RareSums;
  readonly rarest: Float64Array;
  readonly rarestItem: ReadonlyArray<OddItem | undefined>;
  /** What a screen lacks, in the same way, and how many items that are. */
  readonly lacking: RareSums;
  readonly mostLacked: Float64Array;
  readonly mostLackedItem: ReadonlyArray<OddItem | undefined>;
  readonly lacked: Uint32Array;
  /** All that a screen can lack counts so much. */
  readonly common: number;
  /** What most screens have the most of; undefined where there is nothing. */
  readonly usual: OddItem | undefined;
  /** How many of the screens have what one of them has, on average: 0 to 1. */
  readonly alike: number;
}

/** Looks at the items of one kind. Yields after each piece of work. */
export function* findItems(
  screens: readonly PreparedScreen[],
  kind: "titles" | "programs" | "focus" | "texts",
): Generator<void, ItemsFound> {
  const counts = new Map<string, number>();
  const shownOf = new Map<string, string>();
  let known = 0;
  const count = (key: string, { shown }: Item) => {
    const before = counts.get(key);
    counts.set(key, (before ?? 0) + 1);
    if (before === undefined) shownOf.set(key, shown);
  };
  for (const [nth, screen] of screens.entries()) {
    if (nth % PIECE === 0) yield;
    const items = screen[kind];
    if (!items) continue;
    known++;
    for (const item of items) {
      count(item.key, item);
      if (item.unnamed !== null) count(item.unnamed, item);
    }
  }
  const size = screens.length;
  const [extra, lacking] = [createRareSums(size), createRareSums(size)];
  const nothing = () => new Float64Array(size).fill(2);
  const [rarest, mostLacked] = [nothing(), nothing()];
  const rarestItem: Array<OddItem | undefined> = new Array(size);
  const mostLackedItem: Array<OddItem | undefined> = new Array(size);
  const lacked = new Uint32Array(size);
  const { common, usual } = yield* commonIn(counts, known);
  const others = Math.max(1, known - 1);
  let [shares, all] = [0, 0];
  for (const [nth, screen] of screens.entries()) {
    if (nth % PIECE === 0) yield;
    const items = screen[kind];
    if (!items) continue;
    extra.begin(nth);
    lacking.begin(nth);
    let usualOnes = 0;
    for (const item of items) {
      const named = item.unnamed === null ? 0 : (counts.get(item.unnamed) ?? 0);
      // Two texts of a screen may be the same without a name.
      const plain = counts.get(item.key) ?? 1;
      const many = Math.min(known, Math.max(plain, named));
      if (plain >= COMMON * known) usualOnes++;
      const share = (many - 1) / others;
      shares += many / known;
      all++;
      extra.add(nth, share);
      if (share >= (rarest[nth] ?? 0)) continue;
      rarest[nth] = share;
      rarestItem[nth] = { shown: item.shown, count: many - 1 };
    }
    // The keys of a screen differ: it has all of them.
    if (usualOnes === common.length) continue;
    const has = new Set(items.flatMap(({ key, unnamed }) => (unnamed === null ? [key] : [key, unnamed])));
    for (const [key, many] of common) {
      if (has.has(key)) continue;
      const share = 1 - many / others;
      lacking.add(nth, share);
      lacked[nth] = (lacked[nth] ?? 0) + 1;
      if (share >= (mostLacked[nth] ?? 0)) continue;
      mostLacked[nth] = share;
      mostLackedItem[nth] = { shown: shownOf.get(key) ?? key, count: many };
    }
  }
  return {
    known,
    extra,
    rarest,
    rarestItem,
    lacking,
    mostLacked,
    mostLackedItem,
    lacked,
    common: common.length,
    usual: usual && { shown: shownOf.get(usual[0]) ?? usual[0], count: usual[1] },
    alike: all === 0 ? 0 : shares / all,
  };
}

/** What most screens have, with how many have it. There may be much that one screen has alone. */
function* commonIn(
  counts: ReadonlyMap<string, number>,
  known: number,
): Generator<void, { readonly common: readonly KeyCount[]; readonly usual: KeyCount | undefined }> {
  const common: KeyCount[] = [];
  let usual: KeyCount | undefined;
  let nth = 0;
  for (const [key, many] of counts) {
    if (++nth % KEYS === 0) yield;
    if (many >= COMMON * known) common.push([key, Math.min(many, known)]);
    if (many > (usual?.[1] ?? 0)) usual = [key, many];
  }
  return { common, usual };
}
