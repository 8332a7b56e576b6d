/**
 * What an import changes in a file: a unified diff for a person, with secrets masked.
 */
import type { Format } from "./bundle";

/** Fields whose value is a secret, by their name (`token`, `webhookSecrets`, `api_key`). */
const SECRET_FIELD = /token|secret|pass|pwd|credential|auth|bearer|cookie|private|keys?$/i;

/** A field in the query of a URL, or in its fragment. */
const URL_FIELD = /([?&#])([^?&#=\s]+)=([^&#\s]+)/g;

/** The user part of a URL (RFC 3986 section 3.2.1), where a password may stand. */
const URL_USER = /(:\/\/)[^/?#@\s]+@/g;

/** How many lines of a diff are shown, and how many characters of each. */
const MAX_LINES = 300;
const MAX_WIDTH = 500;

/** The most edits that are searched for. With more, comparing two large files would take minutes. */
const MAX_EDITS = 2_000;

/**
 * The hunks of a unified diff from `before` to `after`, secrets masked. The same secret has the same number on both sides,
 * so that a change of it shows.
 */
export async function diffContent(format: Format, before: unknown, after: unknown): Promise<string> {
  const { structuredPatch } = await import("diff");
  const mask = createMask();
  const [old, now] = [shown(format, before, mask), shown(format, after, mask)];
  const options = { context: 2, maxEditLength: MAX_EDITS };
  const patch = structuredPatch("", "", old, now, undefined, undefined, options);
  if (patch === undefined) return "too many changes to show";
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines.map(cut),
  ]);
  if (lines.length <= MAX_LINES) return lines.join("\n");
  return [...lines.slice(0, MAX_LINES), `… and ${lines.length - MAX_LINES} more lines`].join("\n");
}

const cut = (line: string) =>
  line.length > MAX_WIDTH ? `${line.slice(0, MAX_WIDTH).toWellFormed()}…` : line;

function shown(format: Format, content: unknown, mask: (secret: string) => string): string {
  if (format === "text") return String(content);
  const masked = JSON.stringify(
    content,
    (field, value) => {
      if (SECRET_FIELD.test(field) && value !== null && value !== "") return mask(JSON.stringify(value));
      return typeof value === "string" ? maskUrl(value, mask) : value;
    },
    2,
  );
  return `${masked}\n`;
}

function maskUrl(text: string, mask: (secret: string) => string): string {
  return text
    .replaceAll(URL_USER, "$1***@")
    .replaceAll(URL_FIELD, (pair, start, name, value) =>
      SECRET_FIELD.test(name) ? `${start}${name}=${mask(value)}` : pair,
    );
}

function createMask(): (secret: string) => string {
  const numbers = new Map<string, number>();
  return (secret) => {
    const number = numbers.get(secret) ?? numbers.size + 1;
    numbers.set(secret, number);
    return `*** (${number})`;
  };
}
