/**
 * What to do where a native addon could not be loaded: read from what the system's loader says (ld.so(8), musl's ld.so, LoadLibrary).
 */

/** The packages with libraries that addons need. */
const PACKAGES: Readonly<Record<string, string>> = {
  "libgcc_s.so.1": "Debian: libgcc-s1; Fedora and Alpine: libgcc",
  "libstdc++.so.6": "Debian: libstdc++6; Fedora and Alpine: libstdc++",
};

/** What the loader says, and the step that helps. */
const CAUSES: ReadonlyArray<readonly [says: RegExp, step: (found: string) => string]> = [
  [/has no native addon for (\S+)/, (target) => `this build is for ${target}: use the one for this platform`],
  [
    /version [`'](GLIBC_[\d.]+)' not found/,
    (version) =>
      `the C library here is older than ${version}: WebRTC and USB need glibc 2.30 (Debian 11, Ubuntu 20.04, RHEL 9), svc itself 2.17`,
  ],
  [/(lib[\w+-]+\.so[.\d]*): cannot open shared object file/, install],
  [/Error loading shared library (lib[\w+-]+\.so[.\d]*)/, install],
  [
    /native library cannot be unpacked into/,
    () => "set BUN_TMPDIR to a folder that has room, and that is this user's",
  ],
  [
    /failed to map segment|\.node: (?:cannot open shared object file|file too short)/,
    () =>
      "set BUN_TMPDIR to a folder that has room, and from which programs may be loaded (not mounted noexec)",
  ],
  [
    /LoadLibrary failed/,
    () =>
      "svc unpacks its libraries into %LOCALAPPDATA%\\svc-addons and loads them from there: let the antivirus and the rules for applications allow it",
  ],
];

function install(library: string): string {
  const packages = PACKAGES[library];
  return `install ${library}${packages ? ` (${packages})` : ""}`;
}

/** The step that helps where `reason` says that an addon could not be loaded; undefined where it says something else. */
export function loadingStep(reason: string): string | undefined {
  for (const [says, step] of CAUSES) {
    const found = says.exec(reason);
    if (found) return step(found[1] ?? "");
  }
  return undefined;
}
