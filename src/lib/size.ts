/**
 * Sizes as people write them: `512MB`, `1.5GiB`. Decimal prefixes count in thousands, binary ones (IEC 80000-13) in 1,024.
 */
const FACTORS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Bytes, or undefined when `text` is no number with one of these units. */
export function parseSize(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,12}(?:\.\d{1,6})?) ?([kmgt]?i?b)$/i.exec(text) ?? [];
  const factor = FACTORS[unit.toLowerCase()];
  return factor === undefined ? undefined : Math.round(Number(count) * factor);
}
