/**
 * The query of hosts, and what else of it the server has in modules: the same words find the same hosts here and there, and mean the
 * same states and the same nearest name. It is served bundled.
 */
export * from "../src/core/host-query";
export { downKind, PROPERTY_WORDS, STATE_WORDS } from "../src/core/host-terms";
export { nearest } from "../src/lib/nearest";
