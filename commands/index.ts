/**
 * The table of subcommands: those that have a view load it; the others follow from the table of operations.
 */
import type { Registry } from "../src/cli/registry";

const groups: Registry["groups"] = [
  {
    title: "Everyday",
    nouns: {
      serve: { describe: "Run the REST server", load: () => import("./serve") },
      token: { describe: "Manage bearer tokens", load: () => import("./token") },
      execute: { describe: "Run a list of actions", load: () => import("./execute") },
      screenshot: { describe: "Take a screenshot", load: () => import("./screenshot") },
      screen: {
        describe: "Show the live screen of a host, and who watches it",
        load: () => import("./screen"),
      },
      find: {
        describe: "Look for a text in what screens have shown",
        load: () => import("./find"),
      },
      diagnose: { describe: "Check this host", load: () => import("./diagnose") },
      events: { describe: "Print what happens here, or on many hosts", load: () => import("./events") },
      audit: { describe: "Read, verify and export the audit log", load: () => import("./audit") },
      admin: {
        describe: "Manage many hosts: address book, polls, broadcasts",
        load: () => import("./admin"),
      },
      plan: {
        describe: "Plan what many hosts do, and apply it in waves",
        load: () => import("./plan"),
      },
    },
  },
  {
    title: "This host",
    nouns: {
      dashboard: {
        describe: "Open the dashboard here, signed in; its data",
        load: () => import("./dashboard"),
      },
      demo: { describe: "Start a desk and three hosts to look at", load: () => import("./demo") },
      service: { describe: "Run svc serve as a system service", load: () => import("./service") },
      config: {
        describe: "Export or import the configuration of a host",
        load: () => import("./config"),
      },
      usb: { describe: "List and watch USB devices", load: () => import("./usb") },
      sessions: { describe: "List and close peer sessions", load: () => import("./sessions") },
      sync: { describe: "Send the files of a folder to another host", load: () => import("./sync") },
      turn: { describe: "Set up or test a TURN relay", load: () => import("./turn") },
      inspect: { describe: "Show link quality", load: () => import("./inspect") },
      inspector: { describe: "List or reset link statistics" },
      states: {
        describe: "List and forget what desks have applied to this host",
        load: () => import("./states"),
      },
      webhook: { describe: "Post events of this host to an address", load: () => import("./webhook") },
      upgrade: {
        describe: "Replace this program by a newer one, and go back where that fails",
        load: () => import("./upgrade"),
      },
    },
  },
  {
    title: "Scripts and desktop",
    nouns: {
      scripts: { describe: "Store scripts under a name, and run them", load: () => import("./scripts") },
      desktops: { describe: "Start, list and stop desktops of runs' own", load: () => import("./desktops") },
      secret: { describe: "Set, list and remove secrets that scripts name", load: () => import("./secret") },
      runs: { describe: "List, show and cancel runs", load: () => import("./runs") },
      jobs: { describe: "Schedule scripts", load: () => import("./jobs") },
      history: { describe: "List past runs", load: () => import("./history") },
      trace: { describe: "Step through traces of runs", load: () => import("./trace") },
      commands: {
        describe: "List or explain the commands of actions",
        load: () => import("./commands"),
      },
      desktop: { describe: "Control pointer, keyboard and windows", load: () => import("./desktop") },
      elements: { describe: "Find and use what programs show, by name", load: () => import("./elements") },
      tree: { describe: "Show what programs show, as an outline", load: () => import("./tree") },
      locate: { describe: "Look for an image on the screen, or an element", load: () => import("./locate") },
      record: { describe: "Record a script from what a person does", load: () => import("./record") },
      recording: {
        describe: "Record the screen to a file that browsers play; list recordings",
        load: () => import("./recording"),
      },
      "black-box": {
        describe: "Show, pause and resume what is kept of the screen",
        load: () => import("./black-box"),
      },
      robot: { describe: "Serve Robot Framework on this machine", load: () => import("./robot") },
      data: { describe: "Add, list and remove what svc does not carry", load: () => import("./data") },
    },
  },
  {
    title: "Many hosts",
    nouns: {
      fleet: {
        describe: "Give hosts what a file says they should have, and show drift",
        load: () => import("./fleet"),
      },
      "join-token": {
        describe: "Make, list and remove strings with which hosts join this desk",
        load: () => import("./join-token"),
      },
      join: { describe: "Join a desk", load: () => import("./join") },
      leave: { describe: "Leave the desk", load: () => import("./leave") },
      desk: {
        describe: "Show, export or import what makes this a desk's host, or a desk",
        load: () => import("./desk"),
      },
      standby: {
        describe: "Have a second desk follow the first, and take its place once that is gone",
        load: () => import("./standby"),
      },
      login: {
        describe: "Log in to a desk elsewhere, for --desk",
        load: () => import("./login"),
      },
      logout: { describe: "Forget a desk elsewhere", load: () => import("./logout") },
      link: { describe: "Show links of hosts to this desk", load: () => import("./link") },
      nats: {
        describe: "Set up or test a NATS server, over which desks reach hosts",
        load: () => import("./nats"),
      },
    },
  },
  {
    title: "Trust and record",
    nouns: {
      lease: {
        describe: "List, allow or end the leases of agents on a desktop",
        load: () => import("./lease"),
      },
      approvals: {
        describe: "List, allow or deny what waits for a person with another token",
        load: () => import("./approvals"),
      },
      passkeys: {
        describe: "List and remove the passkeys with which people allow things",
        load: () => import("./passkeys"),
      },
      pin: { describe: "Show the pin of this host's TLS key", load: () => import("./pin") },
      tls: { describe: "Print or renew the TLS certificate of this host", load: () => import("./tls") },
      witness: {
        describe: "Print the key with which this host witnesses audit logs",
        load: () => import("./witness"),
      },
      licenses: {
        describe: "List embedded packages and their licences",
        load: () => import("./licenses"),
      },
    },
  },
  {
    title: "Agents",
    nouns: {
      mcp: { describe: "Serve an agent over stdin and stdout (MCP)", load: () => import("./mcp") },
    },
  },
  {
    title: "The server and the program",
    nouns: {
      rest: { describe: "Show request statistics" },
      health: { describe: "Check that the server answers" },
      openapi: { describe: "Print the API document" },
      help: { describe: "Read this documentation, or look for words in it", load: () => import("./help") },
      completion: {
        describe: "Print a shell completion script",
        load: () => import("./completion"),
      },
      version: {
        describe: "Show the version, or compare it with a release",
        load: () => import("./version"),
      },
    },
  },
];

/** What svc can be called with. */
export const registry: Registry = {
  groups,
  nouns: Object.assign({}, ...groups.map(({ nouns }) => nouns)),
  operations: async () => (await import("../src/operations")).operations,
};
