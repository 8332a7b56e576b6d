/** Every check by its name, in the order of the report; a check is loaded when it runs. */
export const CHECKS = {
  platform: async () => (await import("./platform")).platform,
  environment: async () => (await import("./environment")).environment,
  optional_deps: async () => (await import("./optional-deps")).optionalDeps,
  executor: async () => (await import("./executor")).executor,
  audit_chain: async () => (await import("./audit-chain")).auditChain,
  clock: async () => (await import("./clock")).clock,
  screenshot: async () => (await import("./screenshot")).screenshot,
  mouse: async () => (await import("./mouse")).mouse,
  desktops: async () => (await import("./desktops")).desktops,
  elements: async () => (await import("./elements")).elements,
  black_box: async () => (await import("./black-box")).blackBox,
  config_dir: async () => (await import("./config-dir")).configDir,
  disk_space: async () => (await import("./disk-space")).diskSpace,
  trust_files: async () => (await import("./trust-files")).trustFiles,
  permissions: async () => (await import("./permissions")).permissions,
  secrets: async () => (await import("./secrets")).secrets,
  sign_in: async () => (await import("./sign-in")).signIn,
  tokens: async () => (await import("./tokens")).tokens,
  rest_api: async () => (await import("./rest-api")).restApi,
  tls_certificate: async () => (await import("./tls-certificate")).tlsCertificate,
  address_book: async () => (await import("./address-book")).addressBook,
  link: async () => (await import("./link")).link,
  nats: async () => (await import("./nats")).nats,
  plans: async () => (await import("./plans")).plans,
  witness: async () => (await import("./witness")).witness,
  standby: async () => (await import("./standby")).standby,
};

/** The names of all checks, in the order of the report. */
export const CHECK_NAMES = Object.keys(CHECKS) as Array<keyof typeof CHECKS>;

/** Those that name hosts of the address book, or plans for them: they are not for who may act on some of the hosts alone. */
export const ABOUT_HOSTS: ReadonlySet<string> = new Set<keyof typeof CHECKS>([
  ...(["address_book", "nats", "plans", "witness"] as const),
]);

/** All checks, loaded. */
export const loadChecks = () => Promise.all(CHECK_NAMES.map((name) => CHECKS[name]()));
