/** Every check by its name, in the order of the report; a check is loaded when it runs. */
export const CHECKS = {
  platform: async () => (await import("./checks/platform")).platform,
  environment: async () => (await import("./checks/environment")).environment,
  optional_deps: async () => (await import("./checks/optional-deps")).optionalDeps,
  executor: async () => (await import("./checks/executor")).executor,
  audit_chain: async () => (await import("./checks/audit-chain")).auditChain,
  clock: async () => (await import("./checks/clock")).clock,
  screenshot: async () => (await import("./checks/screenshot")).screenshot,
  mouse: async () => (await import("./checks/mouse")).mouse,
  config_dir: async () => (await import("./checks/config-dir")).configDir,
  disk_space: async () => (await import("./checks/disk-space")).diskSpace,
  permissions: async () => (await import("./checks/permissions")).permissions,
  tokens: async () => (await import("./checks/tokens")).tokens,
  rest_api: async () => (await import("./checks/rest-api")).restApi,
  tls_certificate: async () => (await import("./checks/tls-certificate")).tlsCertificate,
  address_book: async () => (await import("./checks/address-book")).addressBook,
  link: async () => (await import("./checks/link")).link,
  nats: async () => (await import("./checks/nats")).nats,
  plans: async () => (await import("./checks/plans")).plans,
  witness: async () => (await import("./checks/witness")).witness,
};

/** The names of all checks, in the order of the report. */
export const CHECK_NAMES = Object.keys(CHECKS) as Array<keyof typeof CHECKS>;

/** All checks, loaded. */
export const loadChecks = () => Promise.all(CHECK_NAMES.map((name) => CHECKS[name]()));
