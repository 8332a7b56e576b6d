/**
 * The table of subcommands: those that have a view load it; the others follow from the table of operations.
 */
import type { Registry } from "../src/cli/registry";

const nouns: Registry["nouns"] = {
  serve: { describe: "Run the REST server", load: () => import("./serve") },
  execute: { describe: "Run a list of actions", load: () => import("./execute") },
  scripts: { describe: "Store scripts under a name, and run them", load: () => import("./scripts") },
  runs: { describe: "List, show and cancel runs", load: () => import("./runs") },
  trace: { describe: "Step through traces of runs", load: () => import("./trace") },
  jobs: { describe: "Schedule scripts", load: () => import("./jobs") },
  history: { describe: "List past runs", load: () => import("./history") },
  commands: {
    describe: "List or explain the commands of actions",
    load: () => import("./commands"),
  },
  events: { describe: "Print what happens here, or on many hosts", load: () => import("./events") },
  approvals: {
    describe: "List, allow or deny what waits for a person with another token",
    load: () => import("./approvals"),
  },
  audit: { describe: "Read, verify and export the audit log", load: () => import("./audit") },
  token: { describe: "Manage bearer tokens", load: () => import("./token") },
  pin: { describe: "Show the pin of this host's TLS key", load: () => import("./pin") },
  tls: { describe: "Print or renew the TLS certificate of this host", load: () => import("./tls") },
  diagnose: { describe: "Check this host", load: () => import("./diagnose") },
  "join-token": {
    describe: "Make, list and remove strings with which hosts join this desk",
    load: () => import("./join-token"),
  },
  link: { describe: "Show links of hosts to this desk", load: () => import("./link") },
  join: { describe: "Join a desk", load: () => import("./join") },
  leave: { describe: "Leave the desk", load: () => import("./leave") },
  desk: {
    describe: "Show, export or import what makes this a desk's host, or a desk",
    load: () => import("./desk"),
  },
  webhook: { describe: "Post events of this host to an address", load: () => import("./webhook") },
  inspect: { describe: "Show link quality", load: () => import("./inspect") },
  admin: {
    describe: "Manage many hosts: address book, polls, broadcasts",
    load: () => import("./admin"),
  },
  plan: {
    describe: "Plan what many hosts do: waves, a queue, and a digest to apply it by",
    load: () => import("./plan"),
  },
  usb: { describe: "List and watch USB devices", load: () => import("./usb") },
  screenshot: { describe: "Take a screenshot", load: () => import("./screenshot") },
  screen: { describe: "Show the live screen of a host, and who watches it", load: () => import("./screen") },
  recording: { describe: "Record the screen to a file that browsers play, and list what was recorded" },
  locate: { describe: "Look for an image on the screen", load: () => import("./locate") },
  desktop: { describe: "Control pointer, keyboard and windows", load: () => import("./desktop") },
  record: { describe: "Record a script from what a person does", load: () => import("./record") },
  data: { describe: "Add, list and remove what svc does not carry", load: () => import("./data") },
  config: {
    describe: "Export or import the configuration of a host",
    load: () => import("./config"),
  },
  nats: {
    describe: "Set up or test a NATS server, over which desks reach hosts",
    load: () => import("./nats"),
  },
  turn: { describe: "Set up or test a TURN relay", load: () => import("./turn") },
  mcp: { describe: "Serve an agent over stdin and stdout (MCP)", load: () => import("./mcp") },
  sessions: { describe: "List and close peer sessions", load: () => import("./sessions") },
  sync: { describe: "Send the files of a folder to another host", load: () => import("./sync") },
  service: { describe: "Run svc serve as a system service", load: () => import("./service") },
  version: { describe: "Show the version, or compare it with a release", load: () => import("./version") },
  upgrade: {
    describe: "Replace this program by a newer one, and go back where that fails",
    load: () => import("./upgrade"),
  },
  licenses: {
    describe: "List embedded packages and their licences",
    load: () => import("./licenses"),
  },
  completion: {
    describe: "Print a shell completion script",
    load: () => import("./completion"),
  },
  witness: {
    describe: "Print the key with which this host witnesses audit logs",
    load: () => import("./witness"),
  },
  inspector: { describe: "List or reset link statistics" },
  dashboard: { describe: "Show the data of the dashboard" },
  rest: { describe: "Show request statistics" },
  health: { describe: "Check that the server answers" },
  openapi: { describe: "Print the API document" },
};

/** What svc can be called with. */
export const registry: Registry = {
  nouns,
  operations: async () => (await import("../src/operations")).operations,
};
