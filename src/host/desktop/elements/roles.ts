/**
 * The roles of elements: those of WAI-ARIA 1.2, as Core Accessibility API Mappings 1.2 maps them to the numbers of AT-SPI2
 * (`AtspiRole`). Toolkits name the same number differently ("push button", "button"), so numbers are compared.
 */
import { badInput } from "../../../lib/errors";
import { meant } from "../../../lib/nearest";
import { jsonLine } from "../../../lib/sanitize";

/** What has no role of its own in ARIA. */
export const GENERIC = "generic";

/** `number native name:role`, by the number of AT-SPI2; without a role it is {@link GENERIC}. */
const TABLE = `
0 invalid, 1 accelerator label, 2 alert:alert, 3 animation, 4 arrow, 5 calendar:group, 6 canvas, 7 check box:checkbox,
8 check menu item:menuitemcheckbox, 9 color chooser:dialog, 10 column header:columnheader, 11 combo box:combobox, 12 date editor,
13 desktop icon, 14 desktop frame, 15 dial, 16 dialog:dialog, 17 directory pane, 18 drawing area, 19 file chooser:dialog, 20 filler,
21 focus traversable, 22 font chooser:dialog, 23 frame:window, 24 glass pane, 25 html container, 26 icon:img, 27 image:img,
28 internal frame:document, 29 label:text, 30 layered pane, 31 list:list, 32 list item:listitem, 33 menu:menu, 34 menu bar:menubar,
35 menu item:menuitem, 36 option pane:dialog, 37 page tab:tab, 38 page tab list:tablist, 39 panel:group, 40 password text:textbox,
41 popup menu:menu, 42 progress bar:progressbar, 43 push button:button, 44 radio button:radio, 45 radio menu item:menuitemradio,
46 root pane, 47 row header:rowheader, 48 scroll bar:scrollbar, 49 scroll pane, 50 separator:separator, 51 slider:slider,
52 spin button:spinbutton, 53 split pane, 54 status bar:status, 55 table:table, 56 table cell:cell, 57 table column header:columnheader,
58 table row header:rowheader, 59 tear off menu item:menuitem, 60 terminal:document, 61 text:textbox, 62 toggle button:button,
63 tool bar:toolbar, 64 tool tip:tooltip, 65 tree:tree, 66 tree table:treegrid, 67 unknown, 68 viewport, 69 window:window, 70 extended,
71 header, 72 footer, 73 paragraph:paragraph, 74 ruler, 75 application:application, 76 autocomplete:combobox, 77 edit bar:textbox,
78 embedded, 79 entry:textbox, 80 chart:img, 81 caption:caption, 82 document frame:document, 83 heading:heading, 84 page, 85 section,
86 redundant object, 87 form:form, 88 link:link, 89 input method window, 90 table row:row, 91 tree item:treeitem,
92 document spreadsheet:document, 93 document presentation:document, 94 document text:document, 95 document web:document,
96 document email:document, 97 comment:comment, 98 list box:listbox, 99 grouping:group, 100 image map:img, 101 notification:alert,
102 info bar:alert, 103 level bar:meter, 104 title bar, 105 block quote:blockquote, 106 audio, 107 video, 108 definition:definition,
109 article:article, 110 landmark:region, 111 log:log, 112 marquee:marquee, 113 math:math, 114 rating, 115 timer:timer, 116 static:text,
117 math fraction, 118 math root, 119 subscript:subscript, 120 superscript:superscript, 121 description list, 122 description term:term,
123 description value:definition, 124 footnote:note, 125 content deletion:deletion, 126 content insertion:insertion, 127 mark:mark,
128 suggestion:suggestion, 129 push button menu:button, 130 switch:switch`;

interface Role {
  readonly native: string;
  readonly role: string;
}

const ROLES: readonly Role[] = TABLE.split(",").map((row) => {
  const [native = "", role = GENERIC] = row.trim().replace(/^\d+ /, "").split(":");
  return { native, role };
});

/** Roles that toolkits give another number, beside that of the table. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  // Core-AAM: an option of a listbox is a list item; toolkits have menu items in a combo box.
  option: ["list item", "menu item"],
  // A menu item that opens a menu is a menu there.
  menuitem: ["menu", "check menu item", "radio menu item"],
  // A grid is a table with states of its own.
  grid: ["table"],
  gridcell: ["table cell"],
  // A row that has no children of its own is a list item or a cell in most toolkits.
  alertdialog: ["alert", "dialog"],
  dialog: ["alert"],
  window: ["dialog"],
  searchbox: ["entry", "text"],
  listbox: ["list"],
  switch: ["toggle button"],
  image: ["image", "icon"],
  tree: ["tree table"],
};

/** The number of a field whose text is a secret. */
export const PASSWORD = 40;

const ARIA = new Set([...ROLES.map(({ role }) => role), ...Object.keys(ALSO)]);
const NATIVE = new Set(ROLES.map(({ native }) => native));
// What GTK 4 calls two of them.
const OTHER_NAMES: Readonly<Record<string, string>> = { "text box": "entry", statusbar: "status bar" };

/** The role of ARIA of a number. */
export const roleOf = (number: number): string => ROLES[number]?.role ?? GENERIC;

/** What AT-SPI2 calls a number. */
export const nativeRoleOf = (number: number): string => ROLES[number]?.native ?? `role ${number}`;

/** `role` in the spelling of the table. @throws a `bad_input` failure that says which one may be meant. */
export function knownRole(role: string): string {
  const spelled = role.toLowerCase();
  const known = OTHER_NAMES[spelled] ?? spelled;
  if (ARIA.has(known) || NATIVE.has(known)) return known;
  throw badInput(`role: ${jsonLine(role)} is none${meant(known, [...ARIA, ...NATIVE])}`);
}

/** The numbers of elements that have the role: one of ARIA, or the name that AT-SPI2 has for it. @throws as {@link knownRole}. */
export function numbersOf(role: string): number[] {
  const known = knownRole(role);
  const others = ALSO[known] ?? [];
  return ROLES.flatMap((one, number) => {
    const isNamed = one.role === known || one.native === known || others.includes(one.native);
    return isNamed && number > 0 ? [number] : [];
  });
}
