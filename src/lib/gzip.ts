/** gzip beside the event loop: a large content holds up nobody, and takes a thread of the pool. */

/** The least characters of a member, but for the last one. */
const MEMBER_LENGTH = 1_048_576;

const zlib = () => process.getBuiltinModule("node:zlib");

/**
 * @param level 1, fast, to 9, small.
 * @param looks whether it looks for what repeats (default). In what was packed before and is text since, nothing does: all that can be
 *   saved are the bits that its characters do not need, and without the look that takes a fraction of the time.
 */
export const gzipAside = (content: Uint8Array | string, level: number, looks = true): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const { gzip, constants } = zlib();
    const strategy = looks ? constants.Z_DEFAULT_STRATEGY : constants.Z_HUFFMAN_ONLY;
    gzip(content, { level, strategy }, (error, packed) => (error ? reject(error) : resolve(packed)));
  });

/**
 * The same of a text that comes in pieces, as members of one file of gzip (RFC 1952, section 2.2): the whole of it is never in memory.
 *
 * @returns the members, which belong together in their order.
 */
export async function gzipPieces(
  pieces: Iterable<string>,
  level: number,
  looks = true,
): Promise<Uint8Array[]> {
  const members: Uint8Array[] = [];
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < MEMBER_LENGTH) continue;
    members.push(await gzipAside(text, level, looks));
    text = "";
  }
  if (text !== "") members.push(await gzipAside(text, level, looks));
  return members;
}

/** @param most bytes of what comes out. @throws where there are more, or it is no gzip. */
export const gunzipAside = (packed: Uint8Array, most: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    zlib().gunzip(packed, { maxOutputLength: most }, (error, content) =>
      error ? reject(error) : resolve(content),
    );
  });
