/** Go's own packages for signed notes and Merkle trees, as a program that verifies what svc writes. */
import { join } from "node:path";
import { temporaryFolder } from "../../../support";

/** Where Debian has them (golang-golang-x-mod-dev). */
const GOPATH = "/usr/share/gocode";

/** The package for notes, for `testWith`. */
export const GO_NOTE = `${GOPATH}/src/golang.org/x/mod/sumdb/note`;

/** What Go is to verify. Hashes are in base64. */
export interface Asked {
  readonly note: string;
  readonly key: string;
  readonly witnesses: readonly string[];
  readonly old: number;
  readonly oldRoot: string;
  readonly consistency: readonly string[] | null;
  readonly index: number;
  readonly rowHash: string;
  readonly inclusion: readonly string[];
}

/** What Go says of each: `3 signatures`, or `refused: …`. */
export async function go(asked: readonly Asked[]): Promise<string[]> {
  using folder = temporaryFolder();
  const env = { ...process.env, GOPATH, GO111MODULE: "off", GOCACHE: folder.path, GOTOOLCHAIN: "local" };
  const child = Bun.spawn(["go", "run", join(import.meta.dir, "go", "main.go")], {
    env,
    stdin: Buffer.from(JSON.stringify(asked)),
    stdout: "pipe",
    stderr: "inherit",
  });
  return child.stdout.json();
}
