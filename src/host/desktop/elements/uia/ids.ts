/**
 * The numbers of UI Automation that are used: classes, interfaces, where their methods are in the table of each, properties and patterns
 * (UIAutomationClient.h of the Windows SDK). The numbers 0 to 2 of every table are QueryInterface, AddRef and Release.
 */

/** What `CoCreateInstance` makes: the second is there from Windows 8 on, and has limits of time. */
export const CLASS = {
  automation: "ff48dba4-60ef-4201-aa87-54103eef594e",
  automation8: "e22ad333-b25f-460c-83d0-0581107395c9",
} as const;

export const AUTOMATION = {
  iid: "30cbe57d-d9d0-452a-ab13-7ac5ac4825ee",
  elementFromHandle: 6,
  createTreeWalker: 13,
  getControlViewCondition: 18,
  createCacheRequest: 20,
  createTrueCondition: 21,
  createPropertyCondition: 23,
  createOrConditionFromNativeArray: 30,
} as const;

/** IUIAutomation2. */
export const LIMITS = {
  iid: "34723aff-0c9d-49d0-9896-7ab52df8cd8a",
  putConnectionTimeout: 61,
  putTransactionTimeout: 63,
} as const;

export const ELEMENT = {
  setFocus: 3,
  findFirstBuildCache: 7,
  findAllBuildCache: 8,
  buildUpdatedCache: 9,
  getCurrentPropertyValueEx: 11,
  getCachedPropertyValueEx: 13,
  getCurrentPatternAs: 14,
  getCurrentLabeledBy: 44,
} as const;

export const ARRAY = { getLength: 3, getElement: 4 } as const;
export const CACHE_REQUEST = { addProperty: 3, putTreeScope: 7, putTreeFilter: 9 } as const;
export const WALKER = { getParentElementBuildCache: 9 } as const;

/** TreeScope: what a search looks at. */
export const SCOPE = { element: 1, children: 2, descendants: 4, subtree: 7 } as const;

/** The patterns: number, interface, and where its methods are. */
export const PATTERN = {
  invoke: { id: 10_000, iid: "fb377fbe-8ea6-46d5-9c73-6499642d3059", invoke: 3 },
  value: {
    id: 10_002,
    iid: "a94cd8b1-0844-4cd6-9d2d-640537ab39e9",
    setValue: 3,
    getCurrentValue: 4,
    getCurrentIsReadOnly: 5,
  },
  rangeValue: {
    id: 10_003,
    iid: "59213f4f-7346-49e5-b120-80555987a148",
    setValue: 3,
    getCurrentValue: 4,
  },
  expandCollapse: {
    id: 10_005,
    iid: "619be086-1f4e-4ee4-bafa-210128738730",
    expand: 3,
    collapse: 4,
    getCurrentState: 5,
  },
  grid: {
    id: 10_006,
    iid: "414c3cdc-856b-4f5b-8538-3131c6302550",
    getItem: 3,
    getCurrentRowCount: 4,
    getCurrentColumnCount: 5,
  },
  selectionItem: { id: 10_010, iid: "a8efa66a-0fda-421a-9194-38021f3578ea", select: 3 },
  table: { id: 10_012, iid: "620e691c-ea96-4710-a850-754b24ce2417", getCurrentColumnHeaders: 4 },
  text: { id: 10_014, iid: "32eba289-3583-42c9-9c59-3b6d9a1e9b6a", getDocumentRange: 7 },
  toggle: { id: 10_015, iid: "94cf8058-9b8d-4ab9-8bfd-4cd0a33c8c70", toggle: 3 },
  scrollItem: { id: 10_017, iid: "b488300f-d015-4f19-9c29-bb595e3645ef", scrollIntoView: 3 },
  legacy: {
    id: 10_018,
    iid: "828055ad-355b-4435-86d5-3b51c14a9b1b",
    doDefaultAction: 4,
    getCurrentDefaultAction: 15,
  },
} as const;
/** IUIAutomationTextRange. */
export const TEXT_RANGE = { getText: 12 } as const;

/**
 * Properties. Two are left out on purpose, as they may be the text of a secret field: 30045 (Value) and 30093 (LegacyIAccessible's
 * value). A value is asked for by its pattern, and of nothing that is secret.
 */
export const PROPERTY = {
  runtimeId: 30_000,
  bounds: 30_001,
  controlType: 30_003,
  name: 30_005,
  hasFocus: 30_008,
  isFocusable: 30_009,
  isEnabled: 30_010,
  className: 30_012,
  isPassword: 30_019,
  window: 30_020,
  isOffscreen: 30_022,
  framework: 30_024,
  hasExpandCollapse: 30_028,
  isGridItem: 30_029,
  hasSelectionItem: 30_036,
  hasSelection: 30_037,
  hasToggle: 30_041,
  hasValue: 30_043,
  isReadOnly: 30_046,
  expandState: 30_070,
  isModal: 30_077,
  isSelected: 30_079,
  toggleState: 30_086,
  ariaRole: 30_101,
  // From Windows 10 1903 on.
  isDialog: 30_174,
} as const;
