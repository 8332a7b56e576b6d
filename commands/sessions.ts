import { command, print, withService } from "../src/cli/command";
import { callLocalServer } from "../src/client/local-server";
import { badInput } from "../src/lib/errors";
import { table } from "../src/lib/table";
import { closeSession, getSessions } from "../src/peers/operations";

export default command({
  builder: (argv) =>
    argv
      .positional("action", { choices: ["list", "close"] as const, demandOption: true })
      .positional("id", { type: "string", describe: "close: the session, as `list` gives its id" })
      .example("$0 sessions list", "The peers that are connected to the server that runs here")
      .example("$0 sessions close 5f0c…", "End one of them"),
  handler: (flags) =>
    withService(flags, async ({ configDir }) => {
      if (flags.action === "close") {
        if (flags.id === undefined) throw badInput("id: expected the id of a session");
        const closed = await callLocalServer(configDir, closeSession, { id: flags.id });
        print(flags, closed, () => `closed ${flags.id}`);
        return 0;
      }
      const body = await callLocalServer(configDir, getSessions, {});
      print(flags, body, () =>
        table(
          ["ID", "ROLE", "PEER", "STATE", "ROUTE", "RTT", "SENT", "RECEIVED", "FILES"],
          body.sessions.map((session) => [
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
        ),
      );
      return 0;
    }),
});
