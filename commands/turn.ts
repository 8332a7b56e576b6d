import type * as v from "valibot";
import { command, print, withService } from "../src/cli/command";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { parseDuration } from "../src/lib/duration";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { readSecret } from "../src/lib/secret";
import { table } from "../src/lib/table";
import type { Service } from "../src/service";
import { makeTurnBundle, makeTurnCredentials, testTurn } from "../src/turn/operations";

export default command({
  builder: (argv) =>
    argv
      .positional("action", {
        choices: ["credentials", "test"] as const,
        describe: "Make the pair for a client; test a relay; else write a bundle",
      })
      .positional("url", { type: "string", describe: "test: turn:host[:port], turns:host[:port]" })
      .option("realm", { type: "string", describe: "Host name or IP address of the relay" })
      .option("user", { type: "string", describe: "User of the relay" })
      .option("secret", {
        type: "string",
        nargs: 1,
        describe:
          "The user's secret, for everybody on this machine to see; - reads it from stdin (else SVC_TURN_SECRET; else a new one; test: else a prompt)",
      })
      .option("auth-secret", {
        type: "boolean",
        describe: "Time-limited credentials, signed with the secret",
      })
      .option("listen-port", { type: "number", describe: "Port for UDP and TCP (3478)" })
      .option("tls-port", { type: "number", describe: "Port for TLS (5349)" })
      .option("tls-cert", { type: "string", describe: "Path of the certificate on the relay, PEM" })
      .option("tls-key", { type: "string", describe: "Path of its key on the relay, PEM" })
      .option("external-ip", { type: "string", describe: "Behind NAT: IP/PRIVATE; or IP" })
      .option("min-port", { type: "number", describe: "First relayed port (49152)" })
      .option("max-port", { type: "number", describe: "Last relayed port (65535)" })
      .option("output-dir", { type: "string", describe: "Folder of the bundle (./turn-bundle)" })
      .option("force", { type: "boolean", describe: "Overwrite in a folder that has content" })
      .option("ttl", { type: "string", default: "1h", describe: "credentials: how long they are good" })
      .option("ca", { type: "string", describe: "test: certificates to trust, PEM" })
      .option("timeout", { type: "number", describe: "test: seconds for each step (5)" })
      .example("$0 turn --realm turn.example.org --user lab", "Write ./turn-bundle")
      .example("$0 turn credentials --ttl 1h", "For a client of --auth-secret")
      .example("$0 turn test turn:turn.example.org --user lab", "Try a relay"),
  handler: (flags) => withService(flags, (service) => actions[flags.action ?? "bundle"](service, flags)),
});

interface Flags {
  readonly json: boolean;
  readonly url: string | undefined;
  readonly realm: string | undefined;
  readonly user: string | undefined;
  readonly secret: string | undefined;
  readonly authSecret: boolean | undefined;
  readonly listenPort: number | undefined;
  readonly tlsPort: number | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly externalIp: string | undefined;
  readonly minPort: number | undefined;
  readonly maxPort: number | undefined;
  readonly outputDir: string | undefined;
  readonly force: boolean | undefined;
  readonly ttl: string;
  readonly ca: string | undefined;
  readonly timeout: number | undefined;
}

const SECRET = { name: "secret", flag: "--secret", variable: "SVC_TURN_SECRET" } as const;

const actions = {
  async bundle(service: Service, flags: Flags) {
    const input = {
      realm: flags.realm,
      user: flags.user,
      secret: await givenSecret(flags),
      auth_secret: flags.authSecret,
      listen_port: flags.listenPort,
      tls_port: flags.tlsPort,
      tls_cert: flags.tlsCert,
      tls_key: flags.tlsKey,
      external_ip: flags.externalIp,
      min_port: flags.minPort,
      max_port: flags.maxPort,
      output_dir: flags.outputDir,
      force: flags.force,
    };
    const made = await callOperation(service, makeTurnBundle, input, localCaller(service, "cli"));
    print(flags, made, () => bundleText(made));
    return 0;
  },

  async credentials(service: Service, flags: Flags) {
    const ttl_s = parseDuration(flags.ttl);
    if (ttl_s === undefined) throw badInput("ttl: expected a number with s, m, h or d, such as 1h");
    const input = { ttl_s, user: flags.user, secret: await givenSecret(flags), output_dir: flags.outputDir };
    const pair = await callOperation(service, makeTurnCredentials, input, localCaller(service, "cli"));
    print(flags, pair, () =>
      [`username  ${pair.username}`, `password  ${pair.password}`, `expires   ${pair.expires_at}`].join("\n"),
    );
    return 0;
  },

  async test(service: Service, flags: Flags) {
    if (flags.url === undefined)
      throw badInput("url: missing: expected turn:host[:port] or turns:host[:port]");
    const secret = (await givenSecret(flags)) ?? (await readSecret(SECRET));
    const input = { url: flags.url, user: flags.user, secret, ca: flags.ca, timeout_s: flags.timeout };
    const report = await callOperation(service, testTurn, input, localCaller(service, "cli"));
    print(flags, report, () => reportText(report));
    return report.ok ? 0 : 1;
  },
};

/** What `--secret` or the environment gives; undefined for nothing. */
function givenSecret({ secret }: Flags): Promise<string> | string | undefined {
  return secret === "-" ? readSecret({ ...SECRET, file: "-" }) : (secret ?? process.env[SECRET.variable]);
}

function bundleText({ folder, files, secret, urls }: v.InferOutput<typeof makeTurnBundle.output>): string {
  const lines = [printable(folder), ...files.map((name) => `  ${name}`), ...urls];
  if (secret !== null) lines.push(`secret  ${secret}  (new; README.txt and turnserver.conf hold it)`);
  return lines.join("\n");
}

function reportText({
  checks,
  relayed_address,
  round_trip_ms,
}: v.InferOutput<typeof testTurn.output>): string {
  const rows = checks.map(({ name, ok, detail }) => [ok ? "ok" : "FAILED", name, detail]);
  const lines = [table(["RESULT", "CHECK", "DETAIL"], rows)];
  if (relayed_address !== null) lines.push(`relayed address ${relayed_address}`);
  if (round_trip_ms !== null) lines.push(`round trip ${round_trip_ms} ms`);
  return lines.join("\n");
}
