/**
 * Server-sent events (HTML standard, section 9.2.6) as messages of this server.
 */

/**
 * What happened: the name of its type, and its data.
 *
 * @typedef {{ type: string, data: Record<string, unknown> }} Happening
 */

/** @typedef {Happening & { id: string }} Message */

/**
 * Whether a message comes behind the event `newest`: two tabs that take turns may both pass on the same one.
 *
 * @param {Message} message
 * @param {string} newest
 */
export function isLater({ id, type }, newest) {
  const [boot, seq] = id.split("-");
  const [knownBoot, knownSeq] = newest.split("-");
  return type === "mark" || type === "reset" || boot !== knownBoot || Number(seq) > Number(knownSeq);
}

/**
 * The messages of a stream, those that come together in one list. One without an id, which
 * this server does not send, is left out, and so is one whose data is not JSON.
 *
 * @param {AsyncIterable<string>} pieces
 * @returns {AsyncGenerator<Message[]>}
 */
export async function* messagesOf(pieces) {
  let rest = "";
  for await (const piece of pieces) {
    const blocks = (rest + piece).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    const messages = blocks.flatMap((block) => messageOf(block) ?? []);
    if (messages.length > 0) yield messages;
  }
}

/**
 * @param {string} block
 * @returns {Message | null}
 */
function messageOf(block) {
  const fields = new Map(
    block.split(/\r?\n/).map((line) => {
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      return [name, value];
    }),
  );
  const id = fields.get("id");
  const type = fields.get("event");
  if (!id || !type) return null;
  try {
    return { id, type, data: JSON.parse(fields.get("data") || "{}") };
  } catch {
    return null;
  }
}
