/** `svc sessions`: lists the peer sessions of this host, and closes one. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { closeSession, getSessions } from "../src/host/peers/operations";

export default {
  verbs: {
    list: view(getSessions, {
      columns: ["ID", "ROLE", "PEER", "STATE", "ROUTE", "RTT", "SENT", "RECEIVED", "FILES"],
      rows: ({ sessions = [] }) =>
        sessions.map((session) => [
          session.id,
          session.role,
          session.peer,
          session.state,
          session.route ?? "",
          session.rtt_ms === null ? "" : `${session.rtt_ms} ms`,
          `${session.bytes_sent}`,
          `${session.bytes_received}`,
          `${session.files_received}`,
        ]),
      none: "no sessions",
      examples: [["$0 sessions list", "Every session of the server on this host"]],
    }),
    close: view(closeSession, {
      positionals: ["id"],
      text: (_body, { id }) => `${id} closed`,
      examples: [["$0 sessions close 5f0c…", "Close one session"]],
    }),
  },
} satisfies Group;
