/**
 * Reading the ZIP archives that svc writes (APPNOTE.TXT 6.3.10): files stored as they are, without ZIP64.
 */

/** Signatures and sizes (sections 4.3.7, 4.3.12 and 4.3.16), and the longest comment at the end. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;

/**
 * The files of an archive, by name, as parts of it.
 *
 * @param {Blob} archive
 * @returns {Promise<Map<string, Blob>>}
 * @throws {Error} when it is none, or is compressed
 */
export async function filesOf(archive) {
  const tail = await viewOf(archive.slice(Math.max(0, archive.size - END_BYTES - MAX_COMMENT)));
  let end = tail.byteLength - END_BYTES;
  while (end >= 0 && tail.getUint32(end, true) !== END) end--;
  if (end < 0) throw new Error("This is not a trace.");
  const start = tail.getUint32(end + 16, true);
  const index = await viewOf(archive.slice(start, start + tail.getUint32(end + 12, true)));
  /** @type {Map<string, Blob>} */
  const files = new Map();
  for (let at = 0; at + CENTRAL_BYTES <= index.byteLength; ) {
    if (index.getUint32(at, true) !== CENTRAL) throw new Error("This archive is damaged.");
    const method = index.getUint16(at + 10, true);
    const size = index.getUint32(at + 20, true);
    const nameBytes = index.getUint16(at + 28, true);
    const name = new TextDecoder().decode(
      new Uint8Array(
        index.buffer,
        at + CENTRAL_BYTES,
        Math.min(nameBytes, index.byteLength - at - CENTRAL_BYTES),
      ),
    );
    if (method !== 0) throw new Error("This archive was packed again: its files are compressed.");
    files.set(name, await contentAt(archive, index.getUint32(at + 42, true), size));
    at += CENTRAL_BYTES + nameBytes + index.getUint16(at + 30, true) + index.getUint16(at + 32, true);
  }
  return files;
}

/**
 * @param {Blob} archive
 * @param {number} at where the header of the file is
 * @param {number} size
 */
async function contentAt(archive, at, size) {
  const header = await viewOf(archive.slice(at, at + LOCAL_BYTES));
  if (header.byteLength < LOCAL_BYTES || header.getUint32(0, true) !== LOCAL)
    throw new Error("This archive is damaged.");
  const start = at + LOCAL_BYTES + header.getUint16(26, true) + header.getUint16(28, true);
  return archive.slice(start, start + size);
}

/** @param {Blob} blob */
const viewOf = async (blob) => new DataView(await blob.arrayBuffer());
