/**
 * The files of a page, embedded in the binary: one set a page, from which nothing but its own files can be had.
 *
 * The page and its scripts name the files of the set as they lie in the source tree (`./dom.js`, `dashboard/dom.js`).
 * What is sent names them with the digest of the whole set in front of the suffix (`dom.9f2c….js`): such a name means
 * the same bytes for ever, so a browser asks for it once. The plain names are there too, revalidated at every use.
 *
 * A file is read when somebody first asks for it, and compressed once for each encoding that is asked for.
 */
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { parseAccept } from "hono/utils/accept";
import { notFound } from "../lib/errors";
import { once } from "../lib/once";

/** What a page is made of; each file is a path as `import … with { type: "file" }` gives it. */
export interface PageFiles {
  /** The page's own path, without the leading slash; its assets are one level below. */
  readonly path: string;
  readonly page: string;
  /** By the name they are asked for with, which matches {@link ASSET_NAME}. */
  readonly assets: Readonly<Record<string, string>>;
  /** The Content-Security-Policy of the page. */
  readonly policy: string;
}

/** What the name of an asset looks like. */
const ASSET_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/** A page and its assets over HTTP. */
export interface PageAssets {
  /** @param asked the headers of the request: which encodings it takes, which ETag it has. */
  page(asked?: Headers): Promise<Response>;
  /**
   * The empty name, which is what a slash after the page's path makes, leads back to the page.
   *
   * @throws a `not_found` failure for a name that is not of the set.
   */
  asset(name: string, asked?: Headers): Promise<Response>;
}

export function createPageAssets({ path, page, assets, policy }: PageFiles): PageAssets {
  const digest = once(() => digestOf([page, ...Object.values(assets)]));
  const rewrite = once(async () => createRewriter(path, Object.keys(assets), await digest()));
  const pageFile = createFile(page, rewrite);
  const files = new Map(Object.entries(assets).map(([name, file]) => [name, createFile(file, rewrite)]));

  return {
    page: (asked) => pageFile(asked, { ...REVALIDATED, "content-security-policy": policy }),
    async asset(name, asked) {
      if (name === "") return new Response(null, { status: 308, headers: { location: `../${path}` } });
      if (!ASSET_NAME.test(name)) throw notFound("no such asset");
      const file = files.get(name);
      if (file) return file(asked, REVALIDATED);
      const plain = files.get(name.replace(`.${await digest()}.`, "."));
      if (!plain) throw notFound("no such asset");
      return plain(asked, IMMUTABLE);
    },
  };
}

/** A new binary is seen at once, an old file costs a 304. */
const REVALIDATED = { "cache-control": "no-cache" };

/** RFC 8246: not even asked for again when the page is reloaded. */
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" };

const HEADERS = {
  vary: "accept-encoding",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The encodings we write, the smallest result first. Levels as high as go in a fraction of a second a megabyte. */
const encoders = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  zstd: (bytes) => Bun.zstdCompress(bytes, { level: 15 }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
} as const satisfies Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>;

type Encoding = keyof typeof encoders;
const ENCODINGS: readonly Encoding[] = ["br", "zstd", "gzip"];

/** One file over HTTP, with a strong ETag for each encoding (RFC 9110 section 8.8.3.3). */
function createFile(path: string, rewrite: () => Promise<(text: string) => string>) {
  const { type } = Bun.file(path);
  const content = once(async () => {
    const bytes = await Bun.file(path).bytes();
    if (!/html|javascript/.test(type)) return bytes;
    return new TextEncoder().encode((await rewrite())(new TextDecoder().decode(bytes)));
  });
  const digest = once(async () => digestText(await content()));
  const encode = (encoding: Encoding) => once(async () => encoders[encoding](await content()));
  const encoded = { br: encode("br"), zstd: encode("zstd"), gzip: encode("gzip") };

  return async (asked = new Headers(), more: Record<string, string>): Promise<Response> => {
    const encoding = chooseEncoding(asked.get("accept-encoding"));
    const etag = encoding ? `"${await digest()}.${encoding}"` : `"${await digest()}"`;
    const headers = { ...HEADERS, ...more, etag };
    if (matches(asked.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
    return new Response(encoding ? await encoded[encoding]() : await content(), {
      headers: { ...headers, "content-type": type, ...(encoding && { "content-encoding": encoding }) },
    });
  };
}

/** Puts `digest` into the quoted names of the set: `"./dom.js"` in a script, `"dashboard/dom.js"` anywhere. */
function createRewriter(path: string, names: readonly string[], digest: string): (text: string) => string {
  const known = new Set(names);
  const quoted = new RegExp(`(["'])(\\./|${path}/)([A-Za-z0-9_][A-Za-z0-9._-]*)\\1`, "g");
  return (text) =>
    text.replaceAll(quoted, (whole: string, quote: string, folder: string, name: string) =>
      known.has(name) ? `${quote}${folder}${name.replace(/(\.[^.]*)$/, `.${digest}$1`)}${quote}` : whole,
    );
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const contents = await Promise.all(paths.map((path) => Bun.file(path).bytes()));
  return digestText(Buffer.concat(contents));
}

/** 132 bits of a SHA-256, in characters that may stand in a name and in an ETag. */
const digestText = (bytes: Uint8Array) =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22);

/** The first of {@link ENCODINGS} that the client takes; undefined for none, so for the file as it is. */
function chooseEncoding(accepted: string | null): Encoding | undefined {
  const quality = new Map(parseAccept(accepted ?? "").map(({ type, q }) => [type.toLowerCase(), q]));
  return ENCODINGS.find((encoding) => (quality.get(encoding) ?? quality.get("*") ?? 0) > 0);
}

/** Whether `If-None-Match` names the ETag (RFC 9110 section 13.1.2: compared weakly). */
function matches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}
