/**
 * The pages of the dashboard, in the order of the navigation. A new page is one module and one line here; the module is
 * loaded when the page is opened.
 */

/**
 * @typedef {object} PageEntry
 * @property {string} name the fragment of the address: `#audit`
 * @property {string} title
 * @property {import("./icons.js").IconName} icon
 * @property {() => Promise<import("./view.js").Page>} load
 */

/** @type {readonly [PageEntry, ...PageEntry[]]} */
export const pages = [
  { name: "overview", title: "Overview", icon: "overview", load: () => import("./overview.js") },
  { name: "server", title: "REST API", icon: "server", load: () => import("./server.js") },
  { name: "admin", title: "Admin console", icon: "hosts", load: () => import("./admin.js") },
  { name: "audit", title: "Audit log", icon: "audit", load: () => import("./audit.js") },
  { name: "inspector", title: "Packet inspector", icon: "inspector", load: () => import("./inspector.js") },
  { name: "usb", title: "USB devices", icon: "usb", load: () => import("./usb.js") },
  { name: "diagnostics", title: "Diagnostics", icon: "diagnostics", load: () => import("./diagnostics.js") },
  { name: "actions", title: "Actions", icon: "actions", load: () => import("./actions.js") },
  { name: "jobs", title: "Jobs and history", icon: "jobs", load: () => import("./jobs.js") },
  { name: "sync", title: "Folder sync", icon: "sync", load: () => import("./sync.js") },
  { name: "screen", title: "Screen", icon: "screen", load: () => import("./screen.js") },
];
