/**
 * Kinds of controls of UI Automation as the role numbers that the rest of the elements compares (`../roles.ts`), as Core Accessibility API
 * Mappings 1.2 maps both to the roles of WAI-ARIA.
 */
import type { Facts } from "./facts";

/** The number of each kind of control, from 50000 on, where nothing else tells. */
const NUMBERS: readonly number[] = [
  ...[43, 5, 7, 11, 79, 88, 27, 32, 31],
  ...[33, 34, 35, 42, 44, 48, 51, 52],
  ...[54, 38, 37, 29, 63, 64, 65, 91, 67],
  ...[39, 20, 55, 90, 82, 129, 23, 20, 71],
  ...[57, 55, 104, 50, 20, 63],
];
const FIRST = 50_000;
const UNKNOWN = 67;
const UNKNOWN_TYPE = 50_025;

const TYPE = {
  button: 50_000,
  checkBox: 50_002,
  edit: 50_004,
  list: 50_008,
  listItem: 50_007,
  menuItem: 50_011,
  progressBar: 50_012,
  text: 50_020,
  custom: UNKNOWN_TYPE,
  group: 50_026,
  dataGrid: 50_028,
  dataItem: 50_029,
  document: 50_030,
  window: 50_032,
  pane: 50_033,
} as const;

const NUMBER = {
  checkMenuItem: 8,
  dialog: 16,
  password: 40,
  radioMenuItem: 45,
  cell: 56,
  text: 61,
  toggleButton: 62,
  listBox: 98,
} as const;

/** A dialog of the system. */
const DIALOG_CLASS = "#32770";

/** Words of ARIA that a kind of control does not tell, each with the kinds that Core-AAM gives it. */
const WORDS: ReadonlyMap<string, { readonly number: number; readonly types: readonly number[] }> = new Map(
  `alert 2 group, alertdialog 2 pane window, application 75 pane, article 109 group, blockquote 105 group, caption 81 text,
cell 56 dataItem, columnheader 57 dataItem, comment 97 group, definition 108 group, dialog 16 pane window, form 87 group,
gridcell 56 dataItem, heading 83 text, log 111 group, listbox 98 list, marquee 112 text, math 113 group,
menuitemcheckbox 8 menuItem checkBox, menuitemradio 45 menuItem, meter 103 progressBar, note 124 group, option 32 listItem,
region 110 group, row 90 dataItem, rowheader 58 dataItem, searchbox 79 edit, status 54 group, switch 130 button, term 122 text,
timer 115 group, treegrid 66 dataGrid`
    .split(",")
    .map((row) => {
      const [word = "", number, ...kinds] = row.trim().split(" ");
      const known = new Map<string, number>(Object.entries(TYPE));
      return [word, { number: Number(number), types: kinds.map((kind) => known.get(kind) ?? UNKNOWN_TYPE) }];
    }),
);

/** The role number of an element. */
export function numberOf(facts: Facts): number {
  if (facts.isSecret) return NUMBER.password;
  // Several words are a list of what else it is.
  for (const word of facts.aria.toLowerCase().split(/\s+/)) {
    const known = WORDS.get(word);
    if (known) return known.number;
  }
  switch (facts.type) {
    case TYPE.button:
      return facts.toggle === undefined ? plain(facts.type) : NUMBER.toggleButton;
    case TYPE.list:
      return facts.hasSelection ? NUMBER.listBox : plain(facts.type);
    case TYPE.menuItem:
      if (facts.toggle !== undefined) return NUMBER.checkMenuItem;
      return facts.hasSelectionItem ? NUMBER.radioMenuItem : plain(facts.type);
    case TYPE.dataItem:
    case TYPE.custom:
      // The cells of a grid of WPF are custom controls.
      return facts.isGridItem ? NUMBER.cell : plain(facts.type);
    case TYPE.document:
      // A field of several lines (RichEdit) is a document that takes a text.
      return facts.isReadOnly === false ? NUMBER.text : plain(facts.type);
    case TYPE.window:
      return facts.isDialog || facts.isModal || facts.className === DIALOG_CLASS
        ? NUMBER.dialog
        : plain(facts.type);
    default:
      return plain(facts.type);
  }
}

const plain = (type: number): number => NUMBERS[type - FIRST] ?? UNKNOWN;

/** The kinds of controls that an element with one of the role numbers can be: a search for them finds others too. */
export function typesOf(numbers: readonly number[]): number[] {
  const wanted = new Set(numbers);
  const found = new Set<number>();
  for (const [at, number] of NUMBERS.entries()) if (wanted.has(number)) found.add(FIRST + at);
  for (const { number, types } of WORDS.values())
    if (wanted.has(number)) for (const type of types) found.add(type);
  const also = (number: number, ...types: readonly number[]) => {
    if (wanted.has(number)) for (const type of types) found.add(type);
  };
  // A secret field of RichEdit may be a document.
  also(NUMBER.password, TYPE.edit, TYPE.custom, TYPE.document);
  also(NUMBER.toggleButton, TYPE.button);
  also(NUMBER.listBox, TYPE.list);
  also(NUMBER.checkMenuItem, TYPE.menuItem);
  also(NUMBER.radioMenuItem, TYPE.menuItem);
  also(NUMBER.cell, TYPE.dataItem, TYPE.custom);
  also(NUMBER.text, TYPE.document);
  also(NUMBER.dialog, TYPE.window);
  return [...found].toSorted((a, b) => a - b);
}
