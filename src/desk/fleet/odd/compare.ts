/**
 * Compares the screens of hosts with those of the others that have the same tag.
 *
 * Promise: the work is in proportion to the number of screens, and done in slices of some milliseconds. A screen of which nothing is known
 * makes no other one stand out.
 */
import { stepsInSlices } from "../../../lib/turn";
import { type Group, LEAST_SCREENS, lookAtGroup } from "./contributions";
import type { PreparedScreen } from "./prepared";
import type { OddHost } from "./rows";

/** From which score on a host stands out: what more than one in sixteen of the others has too is not named. */
export const ODD_FROM = 75;

/** What was found of a screen. */
export interface Verdict extends Omit<OddHost, "state"> {
  /** For the order of those with the same score. */
  readonly sum: number;
}

/**
 * What is found of each screen, in their order.
 *
 * @param among the tags that count; a host without one of them is compared by any of its tags. Of several tags it is the one whose
 *   screens are the most alike.
 */
export async function compareScreens(
  screens: readonly PreparedScreen[],
  among: readonly string[] = [],
): Promise<Verdict[]> {
  return stepsInSlices(comparing(screens, among));
}

interface TaggedGroup {
  readonly tag: string;
  readonly screens: PreparedScreen[];
}

function* comparing(
  screens: readonly PreparedScreen[],
  among: readonly string[],
): Generator<void, Verdict[]> {
  const groups = groupsOf(screens, new Set(among));
  const best = new Map<string, Verdict & { readonly alike: number }>();
  for (const { tag, screens: members } of groups.values()) {
    if (members.length < LEAST_SCREENS) continue;
    const group = yield* lookAtGroup(members);
    for (const [nth, { label }] of members.entries()) {
      const before = best.get(label);
      if (before && before.alike >= group.alike) continue;
      best.set(label, { ...verdictOf(label, tag, members.length - 1, group, nth), alike: group.alike });
    }
  }
  return screens.map((screen) => {
    const found = best.get(screen.label);
    if (!found) return tooFew(screen, groups);
    const { alike: _, ...verdict } = found;
    return verdict;
  });
}

/** The screens by the tags that count for them. */
function groupsOf(
  screens: readonly PreparedScreen[],
  among: ReadonlySet<string>,
): ReadonlyMap<string, TaggedGroup> {
  const groups = new Map<string, TaggedGroup>();
  for (const screen of screens) {
    for (const tag of tagsOf(screen, among)) {
      const known = groups.get(tag);
      if (known) known.screens.push(screen);
      else groups.set(tag, { tag, screens: [screen] });
    }
  }
  return groups;
}

function tagsOf({ tags }: Pick<PreparedScreen, "tags">, among: ReadonlySet<string>): readonly string[] {
  const wanted = tags.filter((tag) => among.has(tag));
  return wanted.length > 0 ? wanted : tags;
}

function verdictOf(label: string, tag: string, others: number, group: Group, nth: number): Verdict {
  const { most, sum, why } = group.of(nth);
  const score = Math.round(100 * most);
  return { label, tag, others, score, why: score === 0 ? null : why, sum };
}

function tooFew({ label, tags }: PreparedScreen, groups: ReadonlyMap<string, TaggedGroup>): Verdict {
  const most = Math.max(0, ...tags.map((tag) => (groups.get(tag)?.screens.length ?? 1) - 1));
  const why =
    tags.length === 0
      ? "cannot tell: it has no tag by which others are like it"
      : `cannot tell: ${most === 0 ? "no other host" : `only ${most} other host${most === 1 ? "" : "s"}`} with a tag of it answered, and it takes ${LEAST_SCREENS - 1}`;
  return { label, tag: null, others: 0, score: null, why, sum: 0 };
}
