/**
 * The STUN and TURN servers of a host (`{config_dir}/ice.json`), and how peers may reach it.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { IceServer } from "node-datachannel";
import * as v from "valibot";
import { secret } from "../../core/fields";
import { checkInput, sentence } from "../../core/input";
import { badInput, Failure, systemCode, unavailable } from "../../lib/errors";
import { readTextFile } from "../../lib/files";
import type { ICE_FIELDS } from "./options";

/** A server, as browsers take it too: https://www.w3.org/TR/webrtc/#rtciceserver-dictionary */
const ICE_SERVER = v.strictObject({
  urls: v.union([v.string(), v.array(v.string())]),
  username: v.optional(v.string()),
  credential: v.optional(secret(v.string())),
});

const ICE_FILE = v.strictObject({
  ice_servers: v.optional(v.array(ICE_SERVER), []),
  /** `relay`: peers get relayed addresses only. */
  transport_policy: v.optional(v.picklist(["all", "relay"]), "all"),
});

export interface IceConfig {
  readonly servers: readonly IceServer[];
  readonly relayOnly: boolean;
}

/**
 * The configuration in the file at `path`; no servers when there is no file.
 *
 * @throws an `unavailable` failure that names the field, never a credential.
 */
export function readIceConfig(path: string): IceConfig {
  try {
    return parseFile(readFileSync(path, "utf8"));
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return { servers: [], relayOnly: false };
    const unread = error instanceof SyntaxError ? "is not JSON" : `cannot be read (${code})`;
    throw unavailable(`${basename(path)}: ${error instanceof Failure ? error.message : unread}`);
  }
}

function parseFile(text: string): IceConfig {
  const checked = checkInput(ICE_FILE, JSON.parse(text), { quote: false });
  if (!checked.ok) throw badInput(sentence(checked.offences));
  const { ice_servers, transport_policy } = checked.input;
  const servers = ice_servers.flatMap(({ urls, username, credential }) =>
    [urls].flat().map((url) => parseIceUrl(url, username, credential)),
  );
  return requireRelay({ servers, relayOnly: transport_policy === "relay" });
}

/** One user for all TURN servers, whose secret is the first line of the file. */
type IceFlags = v.InferOutput<v.ObjectSchema<typeof ICE_FIELDS, undefined>>;

/**
 * The configuration of the flags, which replaces the file; undefined without flags.
 *
 * @throws a `bad_input` failure that never quotes a credential.
 */
export function iceOfFlags(flags: IceFlags): IceConfig | undefined {
  const { ice_server, ice_user, ice_secret_file, relay_only } = flags;
  if (ice_server.length === 0) {
    if (ice_user === undefined && ice_secret_file === undefined && !relay_only) return undefined;
    throw badInput("ice-server: missing; flags replace all of ice.json");
  }
  const text = ice_secret_file === undefined ? undefined : readTextFile(ice_secret_file, "ice-secret-file");
  const [credential] = text?.split(/\r?\n/, 1) ?? [];
  const servers = ice_server.map((url) => parseIceUrl(url, ice_user, credential));
  return requireRelay({ servers, relayOnly: relay_only });
}

/** @throws a `bad_input` failure when only relays are allowed and there is none. */
function requireRelay(config: IceConfig): IceConfig {
  if (!config.relayOnly || config.servers.some(({ relayType }) => relayType)) return config;
  throw badInput("only relayed connections are allowed, but there is no turn: server");
}

/**
 * `stun:host[:port]` (RFC 7064) or `turn:host[:port][?transport=udp]` (RFC 7065).
 *
 * @throws a `bad_input` failure for other text, and for TURN over TCP or TLS, which libdatachannel's ICE agent (libjuice)
 *   does not support.
 */
function parseIceUrl(url: string, username?: string, credential?: string): IceServer {
  const match = /^(stun|turn):(\[[0-9a-f:.]+\]|[^:?/@[\]]+)(?::(\d{1,5}))?(?:\?transport=(udp))?$/i.exec(url);
  const [, scheme, host, port = "3478", transport] = match ?? [];
  if (!scheme || !host || Number(port) < 1 || Number(port) > 65_535 || (transport && scheme !== "turn")) {
    const shown = url.replace(/:.*@/s, ":…@");
    throw badInput(
      `an ICE server's URL: expected stun:HOST[:PORT] or turn:HOST[:PORT][?transport=udp] but found ${JSON.stringify(shown)}; TURN over TCP or TLS is not supported`,
    );
  }
  const at = { hostname: host.replace(/^\[|\]$/g, ""), port: Number(port) };
  if (scheme.toLowerCase() === "stun") return at;
  if (!username || !credential) throw badInput(`${url}: a TURN server needs username and credential`);
  return { ...at, username, password: credential, relayType: "TurnUdp" };
}
