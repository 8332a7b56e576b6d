/**
 * Bytes that come in pieces, copied one after the other into one buffer. A piece that is kept as it came would keep the far
 * larger buffer of the socket, of which it is a part.
 */

/** As much of what is announced is set aside at once, in bytes: who announces more need not send it. */
const MOST_AHEAD = 65_536;

const NOTHING = Buffer.alloc(0);

/** Bytes without a limit: at most twice their length is in memory, and {@link MOST_AHEAD}. */
export function createGrowingBuffer() {
  let buffer = NOTHING;
  let length = 0;
  let ahead = 0;
  return {
    /** So many bytes are announced. */
    expect(bytes: number): void {
      ahead = Math.min(bytes, MOST_AHEAD);
    },
    add(piece: Uint8Array): void {
      const needed = length + piece.length;
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * buffer.length, ahead));
        larger.set(buffer.subarray(0, length));
        // Now, not once somebody looks for what nobody has: an answer grows faster.
        if (buffer !== NOTHING) buffer.buffer.transfer(0);
        buffer = larger;
      }
      buffer.set(piece, length);
      length = needed;
    },
    /** How many there are. */
    length: () => length,
    /** All that there are; from here on there are none. */
    take(): Uint8Array<ArrayBuffer> {
      const all = buffer.subarray(0, length);
      buffer = NOTHING;
      length = 0;
      return all;
    },
  };
}
