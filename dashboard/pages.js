/**
 * The pages of the dashboard, in the order of the navigation. A new page is one module and one line here; the module is
 * loaded when the page is opened.
 */

/**
 * @typedef {object} PageEntry
 * @property {string} name the fragment of the address: `#audit`
 * @property {string} title
 * @property {"host" | "fleet" | "record"} group where it stands in the navigation
 * @property {import("./icons.js").IconName} icon
 * @property {import("./api.js").Scope} scope what a token must allow to see it
 * @property {() => Promise<import("./view.js").Page>} load
 */

/** What the groups of the navigation are called, in their order. */
export const GROUPS = /** @type {const} */ ({ host: "This host", fleet: "Fleet", record: "Record" });

/** @type {readonly [PageEntry, ...PageEntry[]]} */
export const pages = [
  {
    name: "overview",
    title: "Overview",
    group: "host",
    scope: "read",
    icon: "overview",
    load: () => import("./host/overview.js"),
  },
  {
    name: "scripts",
    title: "Scripts",
    group: "host",
    scope: "read",
    icon: "scripts",
    load: () => import("./host/scripts.js"),
  },
  {
    name: "jobs",
    title: "Jobs and history",
    group: "host",
    scope: "read",
    icon: "jobs",
    load: () => import("./host/jobs.js"),
  },
  {
    name: "screen",
    title: "Screen",
    group: "host",
    scope: "screen",
    icon: "screen",
    load: () => import("./host/screen.js"),
  },
  {
    name: "live",
    title: "Live screen",
    group: "host",
    scope: "screen",
    icon: "live",
    load: () => import("./host/live.js"),
  },
  {
    name: "desktops",
    title: "Desktops",
    group: "host",
    scope: "read",
    icon: "desktops",
    load: () => import("./host/desktops.js"),
  },
  {
    name: "diagnostics",
    title: "Diagnostics",
    group: "host",
    scope: "read",
    icon: "diagnostics",
    load: () => import("./host/diagnostics.js"),
  },
  {
    name: "usb",
    title: "USB devices",
    group: "host",
    scope: "read",
    icon: "usb",
    load: () => import("./host/usb.js"),
  },
  {
    name: "sync",
    title: "Folder sync",
    group: "host",
    scope: "read",
    icon: "sync",
    load: () => import("./host/sync.js"),
  },
  {
    name: "secrets",
    title: "Secrets",
    group: "host",
    scope: "read",
    icon: "secrets",
    load: () => import("./host/secrets.js"),
  },
  {
    name: "hosts",
    title: "Hosts",
    group: "fleet",
    scope: "read",
    icon: "hosts",
    load: () => import("./desk/hosts/hosts.js"),
  },
  {
    name: "plans",
    title: "Plans",
    group: "fleet",
    scope: "operate",
    icon: "plans",
    load: () => import("./desk/plans.js"),
  },
  {
    name: "approvals",
    title: "Approvals",
    group: "fleet",
    scope: "operate",
    icon: "approvals",
    load: () => import("./host/approvals.js"),
  },
  {
    name: "audit",
    title: "Audit log",
    group: "record",
    scope: "audit",
    icon: "audit",
    load: () => import("./host/audit.js"),
  },
  {
    name: "inspector",
    title: "Packet inspector",
    group: "record",
    scope: "read",
    icon: "inspector",
    load: () => import("./host/inspector.js"),
  },
  {
    name: "server",
    title: "REST API",
    group: "record",
    scope: "read",
    icon: "server",
    load: () => import("./server.js"),
  },
  {
    name: "help",
    title: "Help",
    group: "record",
    scope: "read",
    icon: "help",
    load: () => import("./help.js"),
  },
];
