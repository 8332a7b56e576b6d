/**
 * The libraries that are linked into a native addon, as far as it shows: Rust leaves the names of the crates that may
 * panic, C leaves symbols and the versions that a library prints. What leaves no trace is not found.
 */
import type { Component } from "../src/licenses/operations";

export interface Library {
  readonly name: string;
  /** Finds it in an addon. */
  readonly trace: RegExp;
  /** Its first group is the version. */
  readonly version?: RegExp;
  readonly licence: (version: string) => string;
  readonly source: string;
}

export const LIBRARIES: readonly Library[] = [
  {
    name: "libdatachannel",
    trace: /libdatachannel/,
    // It does not say so itself; what fetches it to build the addon does.
    version: /libdatachannel\.git\s+GIT_TAG\s+"v([\d.]+)"/,
    licence: () => "MPL-2.0",
    source: "https://github.com/paullouisageneau/libdatachannel",
  },
  {
    name: "libjuice",
    trace: /libjuice|juice_/,
    licence: () => "MPL-2.0",
    source: "https://github.com/paullouisageneau/libjuice",
  },
  {
    name: "libpng",
    trace: /libpng/,
    version: /libpng version (\d+\.\d+\.\d+)/,
    licence: () => "libpng-2.0",
    source: "https://github.com/pnggroup/libpng",
  },
  {
    name: "libsrtp",
    trace: /srtp_/,
    version: /libsrtp2 ([\d.]+)/,
    licence: () => "BSD-3-Clause",
    source: "https://github.com/cisco/libsrtp",
  },
  {
    name: "openssl",
    trace: /OpenSSL/,
    version: /OpenSSL (\d[\w.]+) +\d+ \w{3} \d{4}/,
    licence: (version) => (/^[01]\./.test(version) ? "OpenSSL" : "Apache-2.0"),
    source: "https://github.com/openssl/openssl",
  },
  {
    name: "plog",
    trace: /4plog|plog@@/,
    licence: () => "MIT",
    source: "https://github.com/SergiusTheBest/plog",
  },
  {
    name: "usrsctp",
    trace: /usrsctp_/,
    licence: () => "BSD-3-Clause",
    source: "https://github.com/sctplab/usrsctp",
  },
];

const RUST = "Apache-2.0 OR MIT";

/** By crate, as crates.io says; a test fails for one that is linked and is not here. Their texts are in `licences`. */
export const CRATE_LICENCES: Readonly<Record<string, string>> = {
  "core-foundation": RUST,
  fdeflate: RUST,
  flate2: RUST,
  image: RUST,
  libloading: "ISC",
  miniz_oxide: "Apache-2.0 OR MIT OR Zlib",
  napi: "MIT",
  "napi-sys": "MIT",
  nusb: RUST,
  objc2: "MIT",
  "objc2-app-kit": "Apache-2.0 OR MIT OR Zlib",
  "objc2-core-foundation": "Apache-2.0 OR MIT OR Zlib",
  "objc2-foundation": "Apache-2.0 OR MIT OR Zlib",
  once_cell: RUST,
  png: RUST,
  "rustc-hash": RUST,
  rustix: "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
  slab: "MIT",
  tokio: "MIT",
  widestring: RUST,
  "windows-strings": RUST,
  xcap: "Apache-2.0",
};

/** As Cargo lays its registry out. */
const CRATE = /crates\.io-[0-9a-f]+[\\/]([A-Za-z0-9_-]+?)-(\d+\.\d+\.\d+[\w.+-]*)[\\/]/g;

/**
 * @param addon its bytes as latin1, and whatever else shows how it was built.
 * @param holder what goes before the references of its libraries, as those of several addons may be the same.
 */
export function linkedInto(addon: string, holder: string): Component[] {
  const crates = new Map(Array.from(addon.matchAll(CRATE), ([, name = "", version = ""]) => [name, version]));
  const rust = [...crates].map(([name, version]) => ({
    ...named(name, version, `pkg:cargo/${name}@${version}`),
    licenses: licenceOf(CRATE_LICENCES[name] ?? "unknown"),
  }));
  const c = LIBRARIES.filter(({ trace }) => trace.test(addon)).map(({ name, licence, source, ...traces }) => {
    const version = traces.version?.exec(addon)?.[1] ?? "";
    return {
      ...named(name, version, `pkg:generic/${name}${version && `@${version}`}`),
      licenses: licenceOf(licence(version)),
      externalReferences: [{ type: "vcs" as const, url: source }],
    };
  });
  return [...c, ...rust].toSorted((a, b) => (a.name < b.name ? -1 : 1));

  function named(name: string, version: string, purl: string) {
    const ref = `${holder}#${name}`;
    return { type: "library" as const, "bom-ref": ref, name, ...(version && { version }), purl };
  }
}

/** `license` as SPDX: an id, an expression of several (SPDX 2.3, annex D), else a name. */
export function licenceOf(license: string): Component["licenses"] {
  if (/ (OR|AND|WITH) /.test(license)) return [{ expression: license }];
  return [
    {
      license:
        license !== "unknown" && /^[A-Za-z0-9.+-]+$/.test(license) ? { id: license } : { name: license },
    },
  ];
}
