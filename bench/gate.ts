/**
 * What a flood of clients costs: a million distinct addresses through the gate.
 */
import { join } from "node:path";
import { type Figure, mebibytes } from "./support";

const ALLOWED_BYTES = 48 * 1_048_576;

export async function bench(): Promise<Figure[]> {
  const program = join(import.meta.dir, "programs", "flood.ts");
  const child = Bun.spawn([process.execPath, program], { stdio: ["ignore", "pipe", "inherit"] });
  const { more } = (await new Response(child.stdout).json()) as { more: number };
  return [
    {
      name: "memory for a million addresses through the gate",
      ratio: more / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(more)} more / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
  ];
}
