/** What makes a screen differ from the others of its group, from 0 to 1 each, and in words. */
import { printable } from "../../../lib/sanitize";
import { BLOCKS } from "../../../wire/screen/signature";
import { findItems, type ItemsFound } from "./items";
import { blankIn, findPictures, PICTURE_UNIT, type PicturesFound, placeOf } from "./pictures";
import type { PreparedScreen } from "./prepared";
import { standingsOf } from "./standing";

/** Of fewer screens nothing can be told. */
export const LEAST_SCREENS = 4;
/** Of the texts that most of the others show, lacking this share counts in full: what is read of a busy program may be a part. */
const LACKED_TEXTS = 0.5;

/** One way in which the screens of a group may differ. */
interface Way {
  /** How much each screen stands out by it. */
  readonly standing: Float64Array;
  /** Why, for the nth screen. */
  why(nth: number): string;
}

/** A group of screens, looked at. */
export interface Group {
  /** How much of the screens is the same, 0 to 1. */
  readonly alike: number;
  /** How much the nth screen stands out: by the way that says the most, by all of them together, and why; null where nothing does. */
  of(nth: number): { readonly most: number; readonly sum: number; readonly why: string | null };
}

/** Looks at a group. Yields after each piece of work, of about a millisecond. */
export function* lookAtGroup(screens: readonly PreparedScreen[]): Generator<void, Group> {
  const pictures = yield* findPictures(screens);
  const titles = yield* findItems(screens, "titles");
  const programs = yield* findItems(screens, "programs");
  const focus = yield* findItems(screens, "focus");
  const texts = yield* findItems(screens, "texts");
  yield;
  const picture =
    pictures.known < LEAST_SCREENS ? NOTHING : standingsOf(pictures.differing, pictures.rarest, PICTURE_UNIT);
  yield;
  // The first of those that say as much gives the reason: what a person sees at once, then what is there, then what is not.
  const makers = [
    () => blackWay(screens, pictures, picture),
    () => hasWay(titles, ({ shown, of, has }) => `it has a window ${quoted(shown)}; ${of} ${has} one`),
    () => hasWay(programs, ({ shown, of, does }) => `it runs ${printable(shown, 60)}; ${of} ${does}`),
    () => hasWay(texts, ({ shown, of, does }) => `it shows the text ${quoted(shown)}; ${of} ${does}`),
    () =>
      hasWay(focus, ({ shown, of }) => `${printable(shown, 60)} has the focus, at ${of}${usualOf(focus)}`),
    () => lacksWay(titles, 1, ({ shown, rest }) => `it has no window ${quoted(shown)}; ${rest} have one`),
    () => lacksWay(texts, Math.max(1, LACKED_TEXTS * texts.common), lackedTexts),
    () => pictureWay(screens, pictures, picture),
  ];
  const ways: Way[] = [];
  for (const make of makers) {
    ways.push(make());
    yield;
  }
  const known = [titles, texts, pictures].filter((one) => one.known >= LEAST_SCREENS);
  return {
    alike: known.length === 0 ? 0 : known.reduce((sum, one) => sum + one.alike, 0) / known.length,
    of(nth) {
      let [most, sum] = [0, 0];
      let first: Way | undefined;
      for (const way of ways) {
        const standing = way.standing[nth] ?? 0;
        sum += standing;
        if (standing <= most) continue;
        most = standing;
        first = way;
      }
      return { most, sum, why: first?.why(nth) ?? null };
    },
  };
}

const quoted = (text: string) => `"${printable(text, 100)}"`;

function usualOf({ usual, known }: ItemsFound): string {
  return usual && usual.count > known / 2 ? `; at most of them it is ${printable(usual.shown, 60)}` : "";
}

function lackedTexts({ shown, rest, many }: LackWords): string {
  if (many === 1) return `it lacks the text ${quoted(shown)}; ${rest} show it`;
  return `it lacks ${many} texts, such as ${quoted(shown)}, which ${rest} show`;
}

/** What a screen has, in words. */
interface ExtraWords {
  readonly shown: string;
  /** Who of the others has it too: "none of the 499 others", and the verbs that follow. */
  readonly of: string;
  readonly has: string;
  readonly does: string;
}

/** Something that the others do not have. */
function hasWay(found: ItemsFound, say: (had: ExtraWords) => string): Way {
  return {
    standing: found.known < LEAST_SCREENS ? NOTHING : standingsOf(found.extra, found.rarest, 1),
    why(nth) {
      const { shown = "", count = 0 } = found.rarestItem[nth] ?? {};
      const isOne = count < 2;
      const of = `${count === 0 ? "none" : count} of the ${found.known - 1} others`;
      return say({ shown, of, has: isOne ? "has" : "have", does: isOne ? "does" : "do" });
    },
  };
}

/** What a screen lacks, in words. */
interface LackWords {
  readonly shown: string;
  /** Who has it: "498 of the 499 others". */
  readonly rest: string;
  /** How many such items there are. */
  readonly many: number;
}

function lacksWay(found: ItemsFound, unit: number, say: (lacked: LackWords) => string): Way {
  return {
    standing: found.known < LEAST_SCREENS ? NOTHING : standingsOf(found.lacking, found.mostLacked, unit),
    why(nth) {
      const { shown = "", count = 0 } = found.mostLackedItem[nth] ?? {};
      return say({ shown, rest: `${count} of the ${found.known - 1} others`, many: found.lacked[nth] ?? 0 });
    },
  };
}

const NOTHING = new Float64Array();

function pictureWay(screens: readonly PreparedScreen[], found: PicturesFound, standing: Float64Array): Way {
  return {
    standing,
    why(nth) {
      const blocks = found.blocks[nth] ?? [];
      const share = Math.max(1, Math.round((100 * blocks.length) / BLOCKS));
      if (isBlank(screens[nth], found, "one colour"))
        return "its screen is one colour; those of the others are not";
      return share >= 90
        ? "its picture is another one than that of the others"
        : `its picture differs from the others in ${share} % of the screen, most of it ${placeOf(blocks)}`;
    },
  };
}

/** The picture, where it is black and the others are not. */
function blackWay(screens: readonly PreparedScreen[], found: PicturesFound, standing: Float64Array): Way {
  return {
    // Few stand out: the others are not looked at.
    standing: standing.map((value, nth) => (value > 0 && isBlank(screens[nth], found, "black") ? value : 0)),
    why: () => "its screen is black; those of the others are not",
  };
}

const isBlank = (screen: PreparedScreen | undefined, found: PicturesFound, how: "black" | "one colour") =>
  screen?.picture != null && !found.isBlank && blankIn(screen.picture) === how;
