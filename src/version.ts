/**
 * What this build is. `build.ts` defines the constants; run from the source tree, they come from the tree itself.
 */
declare const SVC_VERSION: string | undefined;
declare const SVC_COMMIT: string | undefined;
declare const SVC_TARGET: string | undefined;
declare const SVC_RELEASE_KEY: string | undefined;

/** The version, as in package.json. */
export const version: string = typeof SVC_VERSION === "string" ? SVC_VERSION : "0.0.0-source";

/** The abbreviated commit the binary was built from, with `-dirty` when the tree had changes; `source` otherwise. */
export const commit: string = typeof SVC_COMMIT === "string" ? SVC_COMMIT : "source";

/** What it was compiled for, as `build.ts --target` has it: `linux-x64-musl`; `source` otherwise. */
export const target: string = typeof SVC_TARGET === "string" ? SVC_TARGET : "source";

/** The public key of minisign that verifies releases, 56 characters of base64; empty in a build without one. */
export const releaseKey: string = typeof SVC_RELEASE_KEY === "string" ? SVC_RELEASE_KEY : "";

/** The program of this process, absolute and without links. @throws the system error once it has been removed. */
export const programPath = (): string => process.getBuiltinModule("node:fs").realpathSync(process.execPath);

/** Whether this is the compiled binary rather than the source tree. */
export const compiled: boolean = typeof SVC_VERSION === "string";
