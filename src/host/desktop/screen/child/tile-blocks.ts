/**
 * Tiles of a frame that are alike, as blocks: what is encoded together.
 */

import type { Rect } from "../../geometry";
import { kindOf, PICTURE } from "./colours";
import type { Frame } from "./frame";
import { goesOnBelow, goesOnRight, type Parts } from "./parts";

/** How large a block may be, in tiles. */
export interface BlockLimit {
  readonly columns: number;
  readonly rows: number;
}

/** The blocks of tiles in a frame. */
export class TileBlocks {
  readonly #kinds: Uint8Array;
  /** The generation and the part of the tile that its kind is for. */
  readonly #generations: Int32Array;
  readonly #parts: Uint32Array;

  /** @param hasPointer whether the pointer is in a tile. */
  constructor(
    private readonly frame: Frame,
    private readonly hasPointer: (tile: number) => boolean,
  ) {
    const tiles = frame.columns * frame.rows;
    this.#kinds = new Uint8Array(tiles);
    this.#generations = new Int32Array(tiles);
    this.#parts = new Uint32Array(tiles);
  }

  /** What a part of a tile shows, as `kindOf` has it; it is looked at once for each change. */
  kindAt(tile: number, part: number): number {
    const generation = this.frame.generations[tile] ?? 0;
    if (this.#generations[tile] !== generation || this.#parts[tile] !== part) {
      this.#kinds[tile] = kindOf(this.frame, this.frame.placeOf(tile, part));
      this.#generations[tile] = generation;
      this.#parts[tile] = part;
    }
    return this.#kinds[tile] ?? PICTURE;
  }

  /**
   * The tiles of one kind around the first of them whose wanted parts are a rectangle: as wide as possible, then as high.
   *
   * @param isApart whether those with the pointer are apart, so that the others are good for all viewers.
   */
  blockAt(first: number, kind: number, wanted: Parts, most: BlockLimit, isApart: boolean): number[] {
    const { columns, rows } = this.frame;
    const [x, y] = [first % columns, Math.floor(first / columns)];
    const isLike = (tile: number) => !isApart || this.hasPointer(tile) === this.hasPointer(first);
    const partOf = (tile: number) => wanted[tile] ?? 0;
    const fits = (tile: number) => this.kindAt(tile, partOf(tile)) === kind && isLike(tile);
    const fitsRight = (tile: number) => goesOnRight(partOf(tile - 1), partOf(tile)) && fits(tile);
    const fitsBelow = (tile: number) => goesOnBelow(partOf(tile - columns), partOf(tile)) && fits(tile);
    let width = 1;
    while (width < most.columns && x + width < columns && fitsRight(first + width)) width++;
    const rowOf = (nth: number) =>
      Array.from({ length: width }, (_, column) => first + nth * columns + column);
    const block = rowOf(0);
    for (let nth = 1; nth < most.rows && y + nth < rows; nth++) {
      const row = rowOf(nth);
      if (!row.every((tile, column) => fitsBelow(tile) && (column === 0 || fitsRight(tile)))) break;
      block.push(...row);
    }
    return block;
  }

  rectOf(block: readonly number[], wanted: Parts): Rect {
    const [first = 0, end = 0] = [block[0], block.at(-1)];
    const { x, y } = this.frame.placeOf(first, wanted[first]);
    const last = this.frame.placeOf(end, wanted[end]);
    return { x, y, width: last.x + last.width - x, height: last.y + last.height - y };
  }
}
