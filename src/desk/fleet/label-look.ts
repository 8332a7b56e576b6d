/**
 * What a reader sees of a label: labels that are easily confused have a look in common.
 *
 * Unicode Technical Standard 39, section 4, with its table of confusables; also without regard to case, width and spaces.
 */
import table from "unhomoglyph/data.json";

const confusables = new Map<string, string>(Object.entries(table));

/** How many labels are remembered: many times as many as are in most address books. */
const MAX_KNOWN = 200_000;

/** @returns a function that gives the looks of a label: as it is written, and in small letters. */
export function createLabelLooks(): (label: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (label) => {
    const found = known.get(label);
    if (found) return found;
    if (known.size >= MAX_KNOWN) known.clear();
    const plain = label.normalize("NFKC").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");
    // A capital may look like one that the small letter of it does not look like.
    const looks = [...new Set([skeletonOf(plain), skeletonOf(plain.toLowerCase())])];
    known.set(label, looks);
    return looks;
  };
}

/** Its skeleton, in small letters: what two confusable texts share. */
function skeletonOf(text: string): string {
  let skeleton = "";
  for (const character of text.normalize("NFD")) skeleton += confusables.get(character) ?? character;
  return skeleton.normalize("NFD").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
