import * as v from "valibot";
import { field, flag, path } from "../../core/fields";
import { operation } from "../../core/operation";
import { unavailable } from "../../lib/errors";
import { FORMAT, requireKnownFormat } from "../../lib/format";
import { commit, compiled, programPath, releaseKey, target, version } from "../../version";
import { PUBLIC_KEY } from "../../wire/release/released-binary";
import type { Daemon } from "./upgrade";

/** Why no other surface has it. */
const LOCAL = {
  http: "it reads a file or an address that its user names, on the machine of its user",
  script: "it reads a file or an address that its user names, on the machine of its user",
};

export const showVersion = operation({
  name: "version.show",
  summary: "Show the version of svc, or compare it with a release",
  scope: "read",
  subcommand: "version",
  leftOut: LOCAL,
  input: v.strictObject({
    check: field(
      v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
      "The release to compare with: its release.json or the folder of it, as a path or an https:// address",
    ),
    public_key: PUBLIC_KEY,
  }),
  output: v.object({
    version: v.string(),
    commit: v.string(),
    /** What it was compiled for; `source` where it was not. */
    target: v.string(),
    /** The public key of minisign that verifies releases; null in a build without one. */
    release_key: v.nullable(v.string()),
    /** The newest format of `{config_dir}` that it knows. */
    format: v.number(),
    /** With `check` only. */
    release: v.exactOptional(
      v.object({
        version: v.string(),
        commit: v.string(),
        date: v.string(),
        newer: v.boolean(),
        /** Whether its signature was verified; without a key, nobody knows who made it. */
        verified: v.boolean(),
        /** The file for this target; null where the release has none. */
        file: v.nullable(v.string()),
      }),
    ),
  }),
  async run(_service, { check, public_key }, { signal }) {
    const own = { version, commit, target, release_key: releaseKey || null, format: FORMAT };
    if (check === undefined) return own;
    const [{ readIndex }, { verifyingKey }, { compareVersions }] = await Promise.all([
      import("../../wire/release/check"),
      import("../../wire/release/key"),
      import("../../wire/release/released-binary"),
    ]);
    const { index, verified } = await readIndex(check, verifyingKey(public_key), signal);
    const { files, ...found } = index;
    return {
      ...own,
      release: {
        version: found.version,
        commit: found.commit,
        date: found.date,
        newer: compareVersions(found.version, version) > 0,
        verified,
        file: Object.hasOwn(files, target) ? (files[target]?.name ?? null) : null,
      },
    };
  },
});

interface UpgradeUses {
  readonly configDir: string;
  /** Those that run it. @param binary absolute, without links. */
  daemonsRunning(binary: string): Promise<readonly Daemon[]>;
}

const PATH = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096));

export const upgradeHere = operation({
  name: "release.upgrade",
  summary: "Replace this program by a signed one, restart its daemon, and go back where that does not answer",
  scope: "admin",
  subcommand: "upgrade",
  changes: "announces",
  leftOut: {
    http: "it ends the process that would answer; a desk upgrades hosts by a plan",
    script: "it ends the process that would run the script; a desk upgrades hosts by a plan",
  },
  input: v.strictObject({
    file: field(path(PATH), "The binary of a release, with its signature FILE.minisig beside it"),
    signature: field(v.optional(path(PATH)), "The signature (default: FILE.minisig)"),
    public_key: PUBLIC_KEY,
    allow_downgrade: flag("Also take a version that is not newer"),
    dry_run: flag("Verify the file, and change nothing"),
  }),
  output: v.object({
    from: v.string(),
    to: v.string(),
    program: v.string(),
    /** Where the old one is kept. */
    previous: v.string(),
    /** The daemons that were started anew. */
    restarted: v.array(v.string()),
    dry_run: v.boolean(),
  }),
  async run(service: UpgradeUses, { file, signature, public_key, allow_downgrade, dry_run }, caller) {
    const [{ upgrade }, { upgradeFiles }, { verifyingKey }, { SIGNATURE_EXTENSION }] = await Promise.all([
      import("./upgrade"),
      import("../../wire/release/files"),
      import("../../wire/release/key"),
      import("../../wire/release/minisign"),
    ]);
    if (!compiled) throw unavailable("this svc runs from its source: there is no program to replace");
    const key = verifyingKey(public_key);
    if (key === null) {
      throw unavailable(
        "this svc has no release key, so nobody knows who made the file: name the key with --public-key",
      );
    }
    const binary = programPath();
    const { from, to, restarted } = await upgrade(
      { file, signature: signature ?? `${file}${SIGNATURE_EXTENSION}` },
      {
        binary,
        version,
        target,
        key,
        dryRun: dry_run,
        id: crypto.randomUUID(),
        allowDowngrade: allow_downgrade,
        daemons: await service.daemonsRunning(binary),
        requireReadable: (reader) => requireKnownFormat(service.configDir, reader),
        announce(next) {
          caller.signal.throwIfAborted();
          return caller.announce(`upgrade ${version} -> ${next} by the key ${key.id}`);
        },
      },
    );
    const { previous } = upgradeFiles(binary);
    return { from, to, program: binary, previous, restarted: [...restarted], dry_run };
  },
});

export const operations = [showVersion, upgradeHere];
