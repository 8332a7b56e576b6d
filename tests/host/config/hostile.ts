/**
 * Bundles that must be refused whole, each under a word for what is wrong with it. As JSON text, since some of them
 * cannot be written as a value.
 */
import { BUNDLED_NAMES } from "../../../src/host/config/bundle";

const MANIFEST =
  '"manifest":{"version":1,"exported_at":"2026-01-01T00:00:00Z","platform":"Linux","source_root":"/x"}';
const GOOD = '"viewer_id":{"format":"text","content":"mallory"}';
const ENTRY = '{"format":"text","content":"mallory"}';

const withFiles = (files: string) => `{${MANIFEST},"files":{${files}}}`;
const withName = (name: string) => withFiles(`${GOOD},${JSON.stringify(name)}:${ENTRY}`);
const withManifest = (manifest: string) => `{${manifest && `"manifest":${manifest},`}"files":{${GOOD}}}`;
const withEntry = (entry: string) => withFiles(`${GOOD},"remote_host_id":${entry}`);

/** Names that are not exactly one of the allowlist's. */
const NAMES = [
  "../viewer_id",
  "../../outside/victim",
  "../x",
  "..",
  ".",
  "",
  "/etc/passwd",
  "/viewer_id",
  "//viewer_id",
  "\\\\server\\share\\viewer_id",
  "C:\\viewer_id",
  "C:viewer_id",
  "a/b",
  "a\\b",
  "./viewer_id",
  "viewer_id/",
  "viewer_id/.",
  "viewer_id/../rest_token",
  "run/../viewer_id",
  "run/rest.json",
  "viewer_id\u0000",
  "viewer_id\u0000.json",
  "\u0000",
  "viewer_id.",
  "viewer_id ",
  " viewer_id",
  "viewer_id\n",
  "viewer_id\t",
  "viewer_id::$DATA",
  "VIEWER_ID",
  "Viewer_id",
  "Admin_Hosts.json",
  "admin_hosts.JSON",
  "admin_hosts.json.",
  "admin_hosts.json.bak.1",
  "admin_hosts",
  "%2e%2e%2fviewer_id",
  "viewer%5fid",
  "ｖiewer_id",
  "viewer_id\u200b",
  "viewer\u202e_id",
  "víewer_id",
  "~/viewer_id",
  "$HOME/viewer_id",
  "rest_token",
  "audit.db",
  "audit.db-wal",
  ".ssh/authorized_keys",
  "CON",
  "NUL",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "x".repeat(100_000),
];

/** The corpus: `[what is wrong, the bundle as text]`. */
export const hostileBundles: ReadonlyArray<readonly [string, string]> = [
  ["null", "null"],
  ["a number", "1"],
  ["a string", '"bundle"'],
  ["true", "true"],
  ["an empty list", "[]"],
  ["a list of a bundle", `[${withFiles(GOOD)}]`],
  ["an empty object", "{}"],
  ["no manifest", withManifest("")],
  ["a manifest of null", withManifest("null")],
  ["a manifest that is a list", withManifest('[{"version":1}]')],
  ["a manifest that is text", withManifest('"1"')],
  ["a manifest without a version", withManifest("{}")],
  ...["0", "2", "-1", "1.5", "1e400", "null", "true", '"1"', "[1]", '{"major":1}'].map(
    (version) => [`version ${version}`, withManifest(`{"version":${version}}`)] as const,
  ),
  ["a version that is inherited", withManifest('{"__proto__":{"version":1}}')],
  ["no files", `{${MANIFEST}}`],
  ["files that are null", `{${MANIFEST},"files":null}`],
  ["files that are a list", `{${MANIFEST},"files":[${ENTRY}]}`],
  ["files that are text", `{${MANIFEST},"files":"viewer_id"}`],
  ["files that are inherited", `{${MANIFEST},"__proto__":{"files":{${GOOD}}}}`],
  ...NAMES.map((name) => [`the name ${JSON.stringify(name).slice(0, 40)}`, withName(name)] as const),
  ["an entry of null", withEntry("null")],
  ["an entry that is a list", withEntry('["text","x"]')],
  ["an entry that is text", withEntry('"x"')],
  ["an entry without a format", withEntry('{"content":"x"}')],
  ["an unknown format", withEntry('{"format":"binary","content":"x"}')],
  ["a format that is a list", withEntry('{"format":["text"],"content":"x"}')],
  ["a format that is inherited", withEntry('{"__proto__":{"format":"text"},"content":"x"}')],
  ["an entry without content", withEntry('{"format":"text"}')],
  ["text that is a number", withEntry('{"format":"text","content":1}')],
  ["text that is null", withEntry('{"format":"text","content":null}')],
  ["text that is an object", withEntry('{"format":"text","content":{"toString":1}}')],
  ["text that is no UTF-8", withEntry('{"format":"text","content":"\\ud800"}')],
  [
    "JSON nested beyond sense",
    withFiles(`"known_hosts.json":{"format":"json","content":${nested(100_000)}}`),
  ],
  [
    "a number beyond what JSON readers hold",
    withFiles('"known_hosts.json":{"format":"json","content":[1e400]}'),
  ],
  ["every good file and one bad name", withFiles([...everyFile(), `"../x":${ENTRY}`].join(","))],
];

function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

function everyFile(): string[] {
  return BUNDLED_NAMES.map((name) =>
    name.endsWith(".json") ? `"${name}":{"format":"json","content":{}}` : `"${name}":${ENTRY}`,
  );
}
