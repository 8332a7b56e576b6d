/**
 * The pages of the dashboard, in the order of the navigation. A new page is one module and one line here; the module is
 * loaded when the page is opened.
 */

/**
 * @typedef {object} PageEntry
 * @property {string} name the fragment of the address: `#audit`
 * @property {string} title
 * @property {import("./icons.js").IconName} icon
 * @property {import("./api.js").Scope} scope what a token must allow to see it
 * @property {() => Promise<import("./view.js").Page>} load
 */

/** @type {readonly [PageEntry, ...PageEntry[]]} */
export const pages = [
  {
    name: "overview",
    scope: "read",
    title: "Overview",
    icon: "overview",
    load: () => import("./host/overview.js"),
  },
  { name: "server", scope: "read", title: "REST API", icon: "server", load: () => import("./server.js") },
  {
    name: "admin",
    scope: "read",
    title: "Admin console",
    icon: "hosts",
    load: () => import("./desk/admin.js"),
  },
  { name: "plans", scope: "operate", title: "Plans", icon: "plans", load: () => import("./desk/plans.js") },
  {
    name: "approvals",
    scope: "operate",
    title: "Approvals",
    icon: "approvals",
    load: () => import("./host/approvals.js"),
  },
  {
    name: "secrets",
    scope: "read",
    title: "Secrets",
    icon: "secrets",
    load: () => import("./host/secrets.js"),
  },
  { name: "audit", scope: "audit", title: "Audit log", icon: "audit", load: () => import("./host/audit.js") },
  {
    name: "inspector",
    scope: "read",
    title: "Packet inspector",
    icon: "inspector",
    load: () => import("./host/inspector.js"),
  },
  { name: "usb", scope: "read", title: "USB devices", icon: "usb", load: () => import("./host/usb.js") },
  {
    name: "diagnostics",
    scope: "read",
    title: "Diagnostics",
    icon: "diagnostics",
    load: () => import("./host/diagnostics.js"),
  },
  {
    name: "actions",
    scope: "read",
    title: "Actions",
    icon: "actions",
    load: () => import("./host/actions.js"),
  },
  {
    name: "jobs",
    scope: "read",
    title: "Jobs and history",
    icon: "jobs",
    load: () => import("./host/jobs.js"),
  },
  { name: "sync", scope: "read", title: "Folder sync", icon: "sync", load: () => import("./host/sync.js") },
  {
    name: "screen",
    scope: "screen",
    title: "Screen",
    icon: "screen",
    load: () => import("./host/screen.js"),
  },
  {
    name: "desktops",
    scope: "read",
    title: "Desktops",
    icon: "desktops",
    load: () => import("./host/desktops.js"),
  },
  { name: "live", scope: "screen", title: "Live screen", icon: "live", load: () => import("./host/live.js") },
  { name: "help", scope: "read", title: "Help", icon: "help", load: () => import("./help.js") },
];
