/**
 * What the tests of TURN bundles need: settings to start from, and coturn's own way of reading its file.
 */
import type { GivenSettings } from "../../../src/host/turn/operations";

/** Settings that are good; what is in `changes` is not as usual. */
export const given = (changes: Partial<GivenSettings> = {}): GivenSettings => ({
  realm: "turn.example.org",
  user: "lab",
  secret: "s3cret",
  auth_secret: false,
  listen_port: 3478,
  tls_port: 5349,
  min_port: 50_000,
  max_port: 50_200,
  ...changes,
});

/** Options and values as coturn reads them (parse_arg_string and read_config_file of its mainrelay.c). */
export function readConf(text: string): Array<[name: string, value: string]> {
  return text.split("\n").flatMap((raw): Array<[string, string]> => {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) return [];
    const [, name = "", value = ""] = /^([^ =\t]*)[ =\t]*(.*)$/.exec(line) ?? [];
    return [[name, value.startsWith('"') ? value.slice(1).trimEnd().replace(/"$/, "") : value]];
  });
}
