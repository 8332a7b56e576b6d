/** Elements as WebDriver clients know them. */

/** The name of the field that holds the reference of an element (W3C WebDriver, section 12.1). */
export const ELEMENT_KEY = "element-6066-11e4-a52e-4f735466cecf";

/** An element as it is sent. */
export const elementAnswer = (reference: string): Record<string, string> => ({ [ELEMENT_KEY]: reference });
