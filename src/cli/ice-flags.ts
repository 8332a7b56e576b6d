/**
 * The flags that say by which servers peers are reached.
 */
import type { Argv } from "yargs";

/** Adds them to a subcommand that connects to peers. */
export const withIceFlags = <Flags>(argv: Argv<Flags>) =>
  argv
    .option("ice-server", {
      type: "string",
      array: true,
      default: [] as string[],
      describe: "stun:HOST or turn:HOST, instead of those in ice.json",
    })
    .option("ice-user", { type: "string", describe: "User of the turn: servers" })
    .option("ice-secret-file", { type: "string", describe: "File that holds that user's secret" })
    .option("relay-only", {
      type: "boolean",
      default: false,
      describe: "Tell peers of relayed addresses only",
    });

/**
 * What the flags of {@link withIceFlags} say.
 *
 * @throws a `bad_input` failure, before a peer would be the first to be told.
 */
export const iceOptions = async (flags: {
  readonly iceServer: readonly string[];
  readonly iceUser: string | undefined;
  readonly iceSecretFile: string | undefined;
  readonly relayOnly: boolean;
}) =>
  (await import("../peers/ice")).iceOfFlags({
    servers: flags.iceServer,
    user: flags.iceUser,
    secretFile: flags.iceSecretFile,
    relayOnly: flags.relayOnly,
  });
