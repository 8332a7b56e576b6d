/** The tests of pages and their assets over HTTP, for the source tree and for the compiled binary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { basename, join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fc from "fast-check";

const ROOT = join(import.meta.dir, "..", "..");

/** The tests of the pages, on the server that `start` gives. */
export function testPages(start: () => Promise<AsyncDisposable & { readonly url: string }>): void {
  let host: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host[Symbol.asyncDispose]());

  /** Without a token and without decompressing. */
  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(host.url + path, { headers: { "accept-encoding": "identity", ...headers }, decompress: false });

  test.each(["dashboard", "explorer"])("every file of %s/ is there", async (folder) => {
    const page = folder === "explorer" ? "docs" : "dashboard";
    for (const path of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
      const name = basename(path);
      // That of a page which svc writes to a file is none of these.
      if (name === "trace-file.js") continue;
      if (name === "index.html" || !/\.(js|css|svg)$/.test(name)) continue;
      expect([name, (await ask(`/${page}/${name}`)).status]).toEqual([name, 200]);
    }
  });

  test("pages have a strict policy and nothing guesses a type", async () => {
    for (const path of ["/dashboard", "/docs"]) {
      const page = await ask(path);
      expect(page.headers.get("content-type")).toMatch("text/html");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
      const policy = page.headers.get("content-security-policy") ?? "";
      expect(policy).toMatch("default-src 'none'");
      expect(policy).toMatch("frame-ancestors 'none'");
      expect(policy).not.toMatch("unsafe");
      expect(await page.text()).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
    }
    expect((await ask("/dashboard")).headers.get("content-security-policy")).toMatch(
      "require-trusted-types-for",
    );
  });

  test("a page names its files by digests, which a browser keeps for ever", async () => {
    const page = await (await ask("/dashboard")).text();
    const script = /dashboard\/main\.[\w-]+\.js/.exec(page)?.[0] ?? "none";
    const main = await ask(`/${script}`);
    expect(main.headers.get("cache-control")).toMatch("immutable");
    const digest = script.split(".").at(-2);
    expect(await main.text()).toMatch(`from "./api.${digest}.js"`);
    expect((await ask(`/dashboard/api.${digest}.js`)).status).toBe(200);
    expect((await ask("/dashboard/api.js")).headers.get("cache-control")).toBe("no-cache");
    expect((await ask("/dashboard/api.AAAAAAAAAAAAAAAAAAAAAA.js")).status).toBe(404);
  });

  test("what a browser has already is answered with 304", async () => {
    for (const path of ["/dashboard", "/dashboard/main.js"]) {
      const etag = (await ask(path)).headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      const again = await ask(path, { "if-none-match": `"other", W/${etag}` });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
      expect((await ask(path, { "if-none-match": '"other"' })).status).toBe(200);
    }
  });

  test("a file is compressed as the client asks, with an ETag of its own", async () => {
    const plain = await (await ask("/dashboard/style.css")).text();
    const decoders = {
      br: brotliDecompressSync,
      gzip: gunzipSync,
      zstd: (bytes: Uint8Array) => Bun.zstdDecompressSync(bytes),
    };
    const etags = new Set<string | null>();
    for (const [encoding, decode] of Object.entries(decoders)) {
      const found = await ask("/dashboard/style.css", { "accept-encoding": encoding });
      expect([found.headers.get("content-encoding"), found.headers.get("vary")]).toEqual([
        encoding,
        "accept-encoding",
      ]);
      const bytes = await found.bytes();
      expect(bytes.length).toBeLessThan(plain.length / 2);
      expect(new TextDecoder().decode(decode(bytes))).toBe(plain);
      etags.add(found.headers.get("etag"));
    }
    expect(etags.size).toBe(3);
    const refused = await ask("/dashboard/style.css", { "accept-encoding": "br;q=0, gzip;q=0.5" });
    expect(refused.headers.get("content-encoding")).toBe("gzip");
  });

  test("noVNC is one file, which imports no other", async () => {
    const found = await ask("/dashboard/novnc.js");
    expect([found.status, found.headers.get("content-type")]).toEqual([200, "text/javascript;charset=utf-8"]);
    const text = await found.text();
    expect(new Bun.Transpiler({ loader: "js" }).scan(text)).toEqual({ exports: ["default"], imports: [] });
    expect(text.includes("noVNC_mouse_capture_elem")).toBe(true);
  });

  test("a slash after the page leads back to it", async () => {
    const found = await fetch(`${host.url}/dashboard/`, { redirect: "manual" });
    expect([found.status, found.headers.get("location")]).toEqual([308, "../dashboard"]);
  });

  const nowhere = [
    "..%2f..%2fpackage.json",
    "%2e%2e%2f%2e%2e%2fpackage.json",
    "%252e%252e%252fpackage.json",
    "..%5c..%5cpackage.json",
    "..%255cpackage.json",
    "%00",
    "main.js%00",
    "main.js%00.css",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "C:%5cboot.ini",
    "a/b",
    "main.js/",
    ".main.js",
    "-main.js",
    "__proto__",
    "constructor",
    "%ff%fe",
    "a".repeat(4_000),
  ];
  test.each(nowhere.map((name) => [name.slice(0, 40), name]))("no such asset: %s", async (_shown, name) => {
    for (const page of ["dashboard", "docs"]) expect((await ask(`/${page}/${name}`)).status).toBe(404);
  });

  test("dots that a client left in the path lead to nothing but the paths of the API", async () => {
    const raw = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const { hostname, port } = new URL(host.url);
        const socket = connect(Number(port), hostname, () => {
          socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`);
        });
        let answer = "";
        socket.setEncoding("utf8").on("data", (text) => {
          answer += text;
        });
        socket.on("end", () => resolve(answer)).on("error", reject);
      });
    for (const path of [
      "/dashboard/../package.json",
      "/dashboard/..\\package.json",
      "/dashboard/%2e%2e/src/main.ts",
    ]) {
      expect(await raw(path)).toMatch(/^HTTP\/1.1 (401|404) /);
    }
  });

  test("any other name is 404, never a crash", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), async (text) => {
        const name = encodeURIComponent(text.toWellFormed());
        // A name of nothing but dots is no name: the client leaves it out of the path.
        fc.pre(!/^\.{1,2}$/.test(name));
        expect((await ask(`/dashboard/${name}`)).status).toBe(404);
      }),
      { numRuns: 100 },
    );
  });
}
