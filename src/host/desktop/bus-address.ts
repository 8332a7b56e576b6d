/**
 * Where a D-Bus message bus listens.
 */

/** The longest address that is read, in characters: a path of a socket has 107 at most. */
const MAX_ADDRESS = 1_000;

/**
 * The first UNIX socket among server addresses (D-Bus Specification, "Server Addresses"), as an address with nothing else in it; undefined
 * where there is none.
 *
 * Programs say where they, or the bus, are found. Of what they say, a library would also start a program (`unixexec:`), and dial any
 * machine (`tcp:`, or a `path` that is a number): a program in a sandbox must not leave it so.
 */
export function socketIn(addresses: string): string | undefined {
  if (addresses.length > MAX_ADDRESS) return undefined;
  for (const address of addresses.split(";")) {
    if (!address.startsWith("unix:")) continue;
    const place = address
      .slice("unix:".length)
      .split(",")
      .find((one) => /^(?:path=\/|abstract=.)[^:]*$/.test(one));
    if (place !== undefined) return `unix:${place}`;
  }
  return undefined;
}

/** The server addresses of the session bus of `env` (D-Bus Specification, "Well-known Message Bus Instances"). */
export function sessionBusAddress(env: NodeJS.ProcessEnv): string {
  const runtime = env.XDG_RUNTIME_DIR || `/run/user/${process.getuid?.()}`;
  return env.DBUS_SESSION_BUS_ADDRESS || `unix:path=${runtime}/bus`;
}

/**
 * The path of the first UNIX socket among server addresses; one in the abstract namespace begins with a null character, as the kernel has it
 * (unix(7)). Undefined where there is none.
 */
export function socketPathIn(addresses: string): string | undefined {
  const found = /^unix:(path|abstract)=(.*)$/.exec(socketIn(addresses) ?? "");
  if (!found) return undefined;
  const [, kind, escaped = ""] = found;
  const path = escaped.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return kind === "abstract" ? `\0${path}` : path;
}
