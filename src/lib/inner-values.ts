/** What is inside a value of JSON. */

/**
 * The items of a list, or the values of an object. `Object.values` makes texts of the places of a list first: of 60,000 items, that
 * takes 100 ms.
 */
export const innerValues = (value: object): readonly unknown[] =>
  Array.isArray(value) ? value : Object.values(value);
