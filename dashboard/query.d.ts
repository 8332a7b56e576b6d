/** The query of hosts as it is served: the module of the server, bundled, under a name of ours. */
export * from "../src/core/host-query";
