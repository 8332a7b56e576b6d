/**
 * The query of hosts, which is a module of the server: the same words find the same hosts here and there. It is served bundled.
 */
export * from "../src/core/host-query";
export { PROPERTY_WORDS, STATE_WORDS } from "../src/core/host-terms";
