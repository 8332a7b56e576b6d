/** What of a library the system loads, where it is an ELF file (elf(5)): Linux. */

const MAGIC = 0x7f454c46;

/**
 * `library` without what follows its segments: symbols for debuggers, and the table of sections. Of a file that is not ELF, all:
 * a library of macOS is signed as a whole, one of Windows has no symbols in it.
 */
export function loadedPart(library: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const header = new DataView(library.buffer, library.byteOffset, library.byteLength);
  if (header.getUint32(0) !== MAGIC) return library;
  const [table, size, count] = [
    header.getBigUint64(0x20, true),
    header.getUint16(0x36, true),
    header.getUint16(0x38, true),
  ];
  const ends = Array.from({ length: count }, (_, at) => {
    const segment = Number(table) + at * size;
    return Number(header.getBigUint64(segment + 8, true) + header.getBigUint64(segment + 32, true));
  });
  const part = library.slice(0, Math.max(...ends));
  // There is no table of sections: its offset, and how many there are.
  part.fill(0, 0x28, 0x30).fill(0, 0x3c, 0x40);
  return part;
}
