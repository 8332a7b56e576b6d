/**
 * A large file that is put together from bytes that the receiver has, of the version before and of a partial file, and from
 * those that the sender sends.
 *
 * The partial file is the file under way itself: a block of it is of use while nothing was written over it, which is so for
 * the same place and for every later one.
 */
import { readSync } from "node:fs";
import { badInput, conflict, Failure } from "../../lib/errors";
import { createBlockReader, RANGES_A_MESSAGE, type Range } from "./block-list";
import { type Block, MAX_BLOCKS, scanBlocks } from "./blocks";
import type { IncomingTransfer } from "./inbox";

/** How much is copied at once, bytes. */
const COPY_BYTES = 1_048_576;

/** A part of the file, in order: where its bytes come from. */
interface Part {
  readonly from: "former" | "partial" | "sender";
  /** Where it is in that file. */
  readonly offset: number;
  length: number;
}

/** How many bytes there are that may be of use. */
export const basisBytes = ({ former, before }: IncomingTransfer): number => (former?.size ?? 0) + before;

/** A file that is put together. */
export interface Assembly {
  /** Takes blocks of the file from the content that this host has already. */
  scan(): Promise<void>;
  /**
   * Takes a part of the block list, after {@link scan}.
   *
   * @returns once it is complete, the blocks that the sender must send, some ranges a message.
   * @throws a `bad_input` failure when it is not a list of the file.
   */
  list(encoded: string, isLast: boolean): Range[][] | undefined;
  /** Copies up to where bytes of the sender are needed, or the end. */
  copy(): Promise<void>;
  /** Whether bytes of the sender come next; else {@link copy} does. */
  isWaiting(): boolean;
  /** @throws a `bad_input` failure when nobody asked for the bytes. */
  write(bytes: Uint8Array): void;
  isComplete(): boolean;
}

/**
 * @param turn called some milliseconds apart while files are read: it lets other work run, and ends the work when it throws.
 * @param hash receives the bytes of the file, in order.
 */
export function createAssembly(
  file: IncomingTransfer,
  size: number,
  average: number,
  turn: () => Promise<void>,
  hash: (bytes: Uint8Array) => void,
): Assembly {
  const basis = new Basis(file, average, turn);
  const parts: Part[] = [];
  const ranges: Range[] = [];
  let blocks = 0;
  let isListed = false;
  /** The number of parts that are complete, and how much of the next one is. */
  let [done, filled] = [0, 0];

  const take = createBlockReader(size, average, (block) => {
    const { from, offset } = basis.find(block) ?? { from: "sender", offset: block.offset };
    const before = parts.at(-1);
    if (before?.from === from && before.offset + before.length === offset) before.length += block.length;
    else parts.push({ from, offset, length: block.length });
    const range = ranges.at(-1);
    if (from === "sender" && range && range[0] + range[1] === blocks) range[1] += 1;
    else if (from === "sender") ranges.push([blocks, 1]);
    blocks += 1;
  });

  return {
    scan: () => basis.scan(),
    list(encoded, isLast) {
      take(encoded, isLast);
      isListed = isLast;
      if (!isLast) return undefined;
      const messages: Range[][] = [];
      for (let at = 0; at === 0 || at < ranges.length; at += RANGES_A_MESSAGE)
        messages.push(ranges.slice(at, at + RANGES_A_MESSAGE));
      return messages;
    },
    async copy() {
      for (let part = parts[done]; part && part.from !== "sender"; part = parts[++done])
        await copyPart(file, part, turn, hash);
    },
    isWaiting: () => parts[done]?.from === "sender",
    write(bytes) {
      const part = isListed ? parts[done] : undefined;
      if (part?.from !== "sender" || filled + bytes.byteLength > part.length)
        throw badInput("bytes arrived that were not asked for");
      hash(bytes);
      file.write(bytes);
      filled += bytes.byteLength;
      if (filled < part.length) return;
      filled = 0;
      done += 1;
    },
    isComplete: () => done === parts.length && file.position() === size,
  };
}

/** The blocks that the receiver has. */
class Basis {
  /** Where a block is in the version before, by its hash. */
  readonly #inFormer = new Map<string, number>();
  /** The last place where a block is in the partial file, and which one is at a place. */
  readonly #inPartial = new Map<string, number>();
  readonly #partialAt = new Map<number, string>();

  constructor(
    private readonly file: IncomingTransfer,
    private readonly average: number,
    private readonly turn: () => Promise<void>,
  ) {}

  /** Takes blocks of the file from the content that this host has already. */
  async scan(): Promise<void> {
    const { descriptor, before, former } = this.file;
    await this.#scan(descriptor, before, ({ offset, hash }) => {
      this.#inPartial.set(hash, offset);
      this.#partialAt.set(offset, hash);
    });
    if (!former) return;
    try {
      await this.#scan(former.file, former.size, ({ offset, hash }) => {
        if (!this.#inFormer.has(hash)) this.#inFormer.set(hash, offset);
      });
    } catch (error) {
      if (error instanceof Failure) throw error;
      // It cannot be read: nothing of it is used, so that the file still arrives.
      this.#inFormer.clear();
    }
  }

  /** Where a block of the new file is; undefined where the sender has to send it. */
  find({ hash, offset }: Block): Omit<Part, "length"> | undefined {
    const place = this.#partialAt.get(offset) === hash ? offset : this.#inPartial.get(hash);
    if (place !== undefined && place >= offset) return { from: "partial", offset: place };
    const old = this.#inFormer.get(hash);
    return old === undefined ? undefined : { from: "former", offset: old };
  }

  async #scan(from: number, bytes: number, found: (block: Block) => void): Promise<void> {
    const { average, turn } = this;
    let blocksFound = 0;
    // Of a much larger file than the new one, only the start: its blocks need memory.
    await scanBlocks(from, Math.min(bytes, MAX_BLOCKS * average), average, turn, (block) => {
      blocksFound += 1;
      if (blocksFound <= MAX_BLOCKS) found(block);
    });
  }
}

/** Copies a part that the receiver has. @throws `conflict` when it has become shorter. */
async function copyPart(
  file: IncomingTransfer,
  { from, offset, length }: Part,
  turn: () => Promise<void>,
  hash: (bytes: Uint8Array) => void,
): Promise<void> {
  const { former } = file;
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, length));
  for (let at = 0; at < length; ) {
    await turn();
    const bytes = buffer.subarray(0, Math.min(buffer.length, length - at));
    const got =
      from === "former" && former
        ? readSync(former.file, bytes, 0, bytes.length, offset + at)
        : file.read(bytes, offset + at);
    if (got === 0) throw conflict("the version before changed meanwhile");
    const read = bytes.subarray(0, got);
    hash(read);
    if (from === "partial" && file.position() === offset + at) file.skip(got);
    else file.write(read);
    at += got;
  }
}
