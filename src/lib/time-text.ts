/** Times as a person reads them: the same everywhere, so that they can be compared and given back to `--since`. */

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)$/;

/** A time in ISO 8601 and UTC to the second: `2026-04-27T10:30:00Z`; any other text as it is. */
export const timeText = (text: string): string => text.replace(TIME, "$1Z");
