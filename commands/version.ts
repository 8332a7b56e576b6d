/** `svc version`: prints the version, and compares it with a release. */
import type * as v from "valibot";
import { view } from "../src/cli/view";
import { showVersion } from "../src/host/release/operations";

type VersionView = v.InferInput<typeof showVersion.output>;

/** Distinct from 1, which says that nobody could tell. */
const NEWER = 3;

export default view(showVersion, {
  // It is about the program that is typed.
  ignoresDesk: true,
  text: ({ version, commit, target, release_key, release }) =>
    [
      `svc ${version} (${commit}) for ${target}`,
      `releases are verified by ${release_key ?? "no key: this build has none"}`,
      ...(release ? [releaseText(version, release)] : []),
    ].join("\n"),
  warnings: ({ release }) =>
    release?.verified === false
      ? ["the release was not verified: this svc has no release key, and --public-key was not given"]
      : [],
  async run({ call, input, show }) {
    const shown = await call(input);
    return show(shown) || (shown.release?.newer ? NEWER : 0);
  },
  epilogue:
    "Exit codes of --check: 0 up to date; 3 the release is newer; 1 it could not be read or verified; 2 wrong usage.",
  examples: [
    ["$0 version", "The version, the target, and the key that verifies releases"],
    ["$0 version --check https://example.com/svc/release.json", "Whether that release is newer"],
  ],
});

function releaseText(
  own: string,
  { version, date, newer, file, verified }: NonNullable<VersionView["release"]>,
): string {
  const by = verified ? "verified" : "not verified";
  const release = `the release is ${version} of ${date} (${by})`;
  if (!newer) return `${release}: not newer than ${own}`;
  return `${release}: newer than ${own}${file === null ? ", but it has no file for this target" : `; its file is ${file}`}`;
}
