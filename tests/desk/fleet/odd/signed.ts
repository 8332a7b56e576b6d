/** Signatures that a test says. */
import { compareScreens, type Verdict } from "../../../../src/desk/fleet/odd/compare";
import { createPreparing, type SignedHost } from "../../../../src/desk/fleet/odd/prepared";
import { BLOCKS, CHANNELS, LEFT_OUT, type Signature } from "../../../../src/wire/screen/signature";

interface Said {
  /** The titles; the first has the focus. */
  readonly windows?: readonly string[];
  readonly texts?: readonly string[];
  readonly tags?: readonly string[];
  readonly picture?: Uint8Array;
}

/** A picture of that luminance, block for block, with something to see in each. */
export function evenPicture(luminance: (block: number) => number = () => 100): Uint8Array {
  const planes = new Uint8Array(BLOCKS * CHANNELS).fill(128);
  for (let block = 0; block < BLOCKS; block++) {
    planes[block] = luminance(block);
    planes[3 * BLOCKS + block] = 20 + (block % 8);
  }
  return planes;
}

/** The same, with a quarter left out. */
export function createHiddenPicture(): Uint8Array {
  const planes = evenPicture((block) => (block < BLOCKS / 4 ? 0 : 100));
  planes.fill(LEFT_OUT, 3 * BLOCKS, 3 * BLOCKS + BLOCKS / 4);
  return planes;
}

/** What a host says of its screen. */
export function signature({ windows = [], texts = [], picture = evenPicture() }: Said = {}): Signature {
  return {
    machine: "machine",
    windows: windows.map((title, nth) => ({ title, program: "program", focused: nth === 0 })),
    texts: [...texts],
    picture: Buffer.from(picture).toString("base64"),
    ...{ no_windows: null, no_texts: null, no_picture: null },
  };
}

/** A host with that signature. */
export const signed = (label: string, said: Said = {}): SignedHost => ({
  ...{ label, tags: said.tags ?? ["lab"] },
  signature: signature(said),
});

/** What is found of hosts with these signatures. */
export const compareHosts = (hosts: readonly SignedHost[], among?: readonly string[]): Promise<Verdict[]> =>
  compareScreens(hosts.map(createPreparing()), among);
