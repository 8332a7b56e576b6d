/** A signature, prepared to be compared: texts in their normal forms, and the bytes of the picture. */
import { createNormalForm, namesOf, type Signature } from "../../../wire/screen/signature";

/** A window, a program or a text of a screen. */
export interface Item {
  /** As it is shown there. */
  readonly shown: string;
  /** Its normal form, and where the name of the host is in it, that without it: another screen may have either. */
  readonly key: string;
  readonly unnamed: string | null;
}

/** The screen of a host. What is not known of it is null. */
export interface PreparedScreen {
  readonly label: string;
  readonly tags: readonly string[];
  readonly titles: readonly Item[] | null;
  readonly programs: readonly Item[] | null;
  /** The program of the window with the focus; none where no window has it. */
  readonly focus: readonly Item[] | null;
  readonly texts: readonly Item[] | null;
  readonly picture: Uint8Array | null;
}

/** What a host has answered. */
export interface SignedHost {
  readonly label: string;
  readonly tags: readonly string[];
  readonly signature: Signature;
}

/** Prepares signatures one after the other: what many screens show is made once. */
export function createPreparing(): (host: SignedHost) => PreparedScreen {
  const normalOf = createNormalForm();
  /** Items without a name in them: the same object for all screens that show the same. */
  const plain = new Map<string, Item>();
  const itemOf = (shown: string, names: readonly string[]): Item => {
    const lower = shown.toLowerCase();
    const isNamed = names.some((name) => lower.includes(name));
    const known = isNamed ? undefined : plain.get(shown);
    if (known) return known;
    const item = { shown, key: normalOf(shown, []), unnamed: isNamed ? normalOf(shown, names) : null };
    if (plain.size >= 50_000) plain.clear();
    if (!isNamed) plain.set(shown, item);
    return item;
  };
  const distinct = (texts: readonly string[], names: readonly string[]): Item[] => {
    const items = new Map<string, Item>();
    for (const text of texts) {
      const item = itemOf(text, names);
      if (item.key !== "" && !items.has(item.key)) items.set(item.key, item);
    }
    return [...items.values()];
  };
  return ({ label, tags, signature }) => {
    const { machine, windows, texts, picture } = signature;
    const names = namesOf(label, machine, machine.split(".")[0] ?? "");
    const isListed = signature.no_windows === null;
    const programs = windows.flatMap(({ program }) => program ?? []);
    const focused = windows.filter((one) => one.focused).flatMap(({ program }) => program ?? []);
    return {
      label,
      tags,
      titles: isListed
        ? distinct(
            windows.map(({ title }) => title),
            names,
          )
        : null,
      programs: isListed ? distinct(programs, []) : null,
      focus: isListed ? distinct(focused.slice(0, 1), []) : null,
      texts: signature.no_texts === null ? distinct(texts, names) : null,
      picture: picture === null ? null : Buffer.from(picture, "base64"),
    };
  };
}
