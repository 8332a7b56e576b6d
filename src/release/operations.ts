import * as v from "valibot";
import { field } from "../core/fields";
import { operation } from "../core/operation";
import { commit, releaseKey, target, version } from "../version";

export const PUBLIC_KEY = field(
  v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
  "The public key of minisign that signs releases, or its file (default: the one in this svc)",
);

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
    /** With `check` only. */
    release: v.exactOptional(
      v.object({
        version: v.string(),
        commit: v.string(),
        date: v.string(),
        /** Whether it is newer than this svc. */
        newer: v.boolean(),
        /** Whether its signature was verified; without a key, nobody knows who made it. */
        verified: v.boolean(),
        /** The file for this target; null where the release has none. */
        file: v.nullable(v.string()),
      }),
    ),
  }),
  async run(_service, { check, public_key }, { signal }) {
    const own = { version, commit, target, release_key: releaseKey || null };
    if (check === undefined) return own;
    const [{ readIndex }, { verifyingKey }, { compareVersions }] = await Promise.all([
      import("./check"),
      import("./key"),
      import("./index"),
    ]);
    const { index, verified } = await readIndex(check, verifyingKey(public_key), signal);
    const { files, ...found } = index;
    return {
      ...own,
      release: {
        ...{ version: found.version, commit: found.commit, date: found.date },
        newer: compareVersions(found.version, version) > 0,
        verified,
        file: Object.hasOwn(files, target) ? (files[target]?.name ?? null) : null,
      },
    };
  },
});

export const operations = [showVersion];
