/**
 * What this build is. `build.ts` defines both constants; run from the source tree, they come from the tree itself.
 */
declare const SVC_VERSION: string | undefined;
declare const SVC_COMMIT: string | undefined;

/** The version, as in package.json. */
export const version: string = typeof SVC_VERSION === "string" ? SVC_VERSION : "0.0.0-source";

/** The abbreviated commit the binary was built from, with `-dirty` when the tree had changes; `source` otherwise. */
export const commit: string = typeof SVC_COMMIT === "string" ? SVC_COMMIT : "source";

/** Whether this is the compiled binary rather than the source tree. */
export const compiled: boolean = typeof SVC_VERSION === "string";
