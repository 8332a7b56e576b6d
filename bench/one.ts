/**
 * `bun bench/one.ts FILE`: runs one bench once, and sends its figures to the process that started it (`run.ts`).
 */
import { join } from "node:path";
import type { Figure } from "./support";

const [file = ""] = process.argv.slice(2);
const { bench }: { readonly bench: () => Promise<Figure[]> } = await import(join(import.meta.dir, file));
const figures = await bench();
process.send?.(figures);
// What a bench leaves open does not keep it from its end.
process.disconnect?.();
process.exit(0);
