/**
 * The files of a page, embedded in the binary. A page serves its own files and no others.
 *
 * The page and its scripts refer to files by their names in the source tree (`./dom.js`, `dashboard/dom.js`). In what is
 * sent, these names have the digest of all files before the suffix (`dom.9f2c….js`): such a name always means the same
 * bytes, so a browser requests it once. The plain names work too and are revalidated at every use.
 *
 * A file is read at its first request, and compressed once for each encoding. All answers are sent from that one copy: Bun
 * copies the bytes of a `Uint8Array` or a text for each answer that a client is slow to read, those of a `Blob` never.
 */
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { parseAccept } from "hono/utils/accept";
import { notFound } from "../lib/errors";
import { digestText, matches } from "../lib/etag";
import { once } from "../lib/once";
import { unpack } from "../lib/unpack";

/** A file as it is read: from a path of `import … with { type: "file" }`, or otherwise. */
type Source = Pick<Bun.BunFile, "type" | "bytes">;

/** The parts of a page; a file is a path from `import … with { type: "file" }`, where nothing else is said. */
interface PageFiles {
  /** The page's own path, without the leading slash; its assets are one level below. */
  readonly path: string;
  readonly page: string;
  /** The files by the names in requests. */
  readonly assets: Readonly<Record<string, string | Source>>;
  /** The Content-Security-Policy of the page. */
  readonly policy: string;
}

/** A page and its assets over HTTP. */
export interface PageAssets {
  /** @param requestHeaders name the encodings that the client accepts and the ETag that it has. */
  page(requestHeaders?: Headers): Promise<Response>;
  /**
   * Redirects the empty name, from a slash after the page's path, to the page.
   *
   * @throws a `not_found` failure for an unknown name.
   */
  asset(name: string, requestHeaders?: Headers): Promise<Response>;
}

export function createPageAssets({ path, page, assets, policy }: PageFiles): PageAssets {
  const digest = once(async () => {
    const contents = [page, ...Object.values(assets)].map((file) => sourceOf(file).bytes());
    return digestText(Buffer.concat(await Promise.all(contents)));
  });
  const rewrite = once(async () => createRewriter(path, Object.keys(assets), await digest()));
  const pageFile = createFile(sourceOf(page), rewrite);
  const files = new Map(
    Object.entries(assets).map(([name, file]) => [name, createFile(sourceOf(file), rewrite)]),
  );

  return {
    page: (requestHeaders) => pageFile(requestHeaders, { ...REVALIDATED, "content-security-policy": policy }),
    async asset(name, requestHeaders) {
      if (name === "") return new Response(null, { status: 308, headers: { location: `../${path}` } });
      const plain = files.get(name);
      if (plain) return plain(requestHeaders, REVALIDATED);
      const file = files.get(name.replace(`.${await digest()}.`, "."));
      if (!file) throw notFound("no such asset");
      return file(requestHeaders, IMMUTABLE);
    },
  };
}

/** A new binary takes effect at once; an unchanged file costs a 304. */
const REVALIDATED = { "cache-control": "no-cache" };

/** Not requested again even when the page is reloaded (RFC 8246). */
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" };

const HEADERS = {
  vary: "accept-encoding",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The encodings, the smallest result first, at the highest levels that take a fraction of a second per megabyte. */
const encoders = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  zstd: (bytes) => Bun.zstdCompress(bytes, { level: 15 }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
} as const satisfies Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>;

type Encoding = keyof typeof encoders;
const ENCODINGS: readonly Encoding[] = ["br", "zstd", "gzip"];

const sourceOf = (file: string | Source): Source =>
  typeof file === "string"
    ? { type: Bun.file(file).type, bytes: async () => new Uint8Array(unpack(file)) }
    : file;

/** One file over HTTP, with a strong ETag for each encoding (RFC 9110 section 8.8.3.3). */
function createFile(source: Source, rewrite: () => Promise<(text: string) => string>) {
  const { type } = source;
  const content = once(async () => {
    const bytes = await source.bytes();
    if (!/html|javascript/.test(type)) return bytes;
    return new TextEncoder().encode((await rewrite())(new TextDecoder().decode(bytes)));
  });
  const digest = once(async () => digestText(await content()));
  const plain = once(async () => new Blob([await content()]));
  const encode = (encoding: Encoding) =>
    once(async () => new Blob([await encoders[encoding](await content())]));
  const encoded = { br: encode("br"), zstd: encode("zstd"), gzip: encode("gzip") };

  return async (requestHeaders = new Headers(), more: Record<string, string>): Promise<Response> => {
    const encoding = chooseEncoding(requestHeaders.get("accept-encoding"));
    const etag = encoding ? `"${await digest()}.${encoding}"` : `"${await digest()}"`;
    const headers = { ...HEADERS, ...more, etag };
    if (matches(requestHeaders.get("if-none-match"), etag))
      return new Response(null, { status: 304, headers });
    return new Response(await (encoding ? encoded[encoding] : plain)(), {
      headers: { ...headers, "content-type": type, ...(encoding && { "content-encoding": encoding }) },
    });
  };
}

/**
 * Puts `digest` into quoted names of files: `"./dom.js"` or `"../desk/plan.js"` in a script, `"dashboard/dom.js"` anywhere. The folders
 * of the source tree are not part of a request: each name is that of one file.
 */
function createRewriter(path: string, names: readonly string[], digest: string): (text: string) => string {
  const known = new Set(names);
  const quoted = new RegExp(
    `(["'])((?:\\.\\.?/)+(?:[a-z]+/)*|${path}/)([A-Za-z0-9_][A-Za-z0-9._-]*)\\1`,
    "g",
  );
  return (text) =>
    text.replaceAll(quoted, (whole: string, quote: string, folder: string, name: string) => {
      if (!known.has(name)) return whole;
      const above = folder.startsWith(".") ? "./" : folder;
      return `${quote}${above}${name.replace(/(\.[^.]*)$/, `.${digest}$1`)}${quote}`;
    });
}

/** The first of {@link ENCODINGS} that the client accepts; undefined sends the file as it is. */
function chooseEncoding(accepted: string | null): Encoding | undefined {
  const quality = new Map(parseAccept(accepted ?? "").map(({ type, q }) => [type.toLowerCase(), q]));
  return ENCODINGS.find((encoding) => (quality.get(encoding) ?? quality.get("*") ?? 0) > 0);
}
