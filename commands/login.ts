/**
 * Not an operation: it is about the command line of this user, and asks another machine.
 */
import * as v from "valibot";
import { canAsk, isConfirmed } from "../src/cli/confirm";
import { askDesk } from "../src/cli/elsewhere/desk";
import { baseUrl, settleDesk } from "../src/cli/elsewhere/login";
import { DESK_NAME, DESK_PIN, type Login, loginsIn } from "../src/cli/elsewhere/logins";
import { askPerson, type SignInWay } from "../src/cli/elsewhere/sign-in";
import { writeErr } from "../src/cli/output";
import { shownTable } from "../src/cli/shown-table";
import { type GlobalFlags, print, subcommand, withService } from "../src/cli/subcommand";
import { field, flag, secret } from "../src/core/fields";
import { badInput, cancelled } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { readSecret } from "../src/lib/secret";
import { timeText } from "../src/lib/time-text";
import type { Service } from "../src/service/service";
import { tokenRights } from "../src/trust/operations/request-token";

const input = v.strictObject({
  url: field(v.optional(v.string()), "Address of the desk: https://…"),
  name: field(v.optional(DESK_NAME), "What to call it here (default: its host name)"),
  token: field(v.optional(secret(v.string())), "Token that `svc token add` printed there"),
  pin: field(v.optional(DESK_PIN), "What `svc pin` prints there: another key is refused"),
  trust_first: flag("Keep the key that it shows now, unasked"),
  insecure_http: flag("Accept plain http beyond this machine: others can read all of it, the token too"),
  sign_in: flag("Sign in at the provider of the desk, in a browser on this machine, in place of a token"),
  device: flag("Sign in at the provider of the desk with a browser on another device"),
  list: flag("List the desks, and which one SVC_DESK names"),
});

type LoginInput = v.InferInput<typeof input>;

const shownOf = ({ name, url, pin, token_name, expires }: Login) => ({ name, url, pin, token_name, expires });

const ownerText = (name: string | null) => (name === null ? "the desk's own" : name);

function list(service: Service, globals: GlobalFlags): number {
  // `--desk` names one for this command line alone.
  const desks = loginsIn(service.configDir, service.log)
    .all()
    .map((login) => ({ ...shownOf(login), current: login.name === globals.desk }));
  const rows = desks.map(({ current, name, url, token_name, expires, pin }) => [
    current ? "*" : "",
    name,
    url,
    printable(ownerText(token_name), 64),
    expires === null ? "never" : timeText(expires),
    pin ?? "",
  ]);
  print(globals, { desks }, () =>
    shownTable(["NOW", "NAME", "ADDRESS", "TOKEN", "EXPIRES", "PIN"], rows, "no desks: `svc login URL`"),
  );
  return 0;
}

/** Whether a person says yes. @throws `bad_input` where there is nobody to ask. */
async function confirmPin(pin: string, why: string): Promise<void> {
  if (!canAsk()) {
    throw badInput(
      `pin: missing: ${why}. It shows ${pin}: compare that with what \`svc pin\` prints there, then give it with --pin; or --trust-first`,
    );
  }
  writeErr(
    `${printable(why, 500)}. Its key has the pin\n  ${pin}\nCompare it with what \`svc pin\` prints there.\n`,
  );
  if (await isConfirmed("Is it the same?")) return;
  throw cancelled("not logged in: the pin is not that of the desk");
}

const askToken = () =>
  readSecret({
    name: "token",
    file: process.stdin.isTTY || process.env.SVC_DESK_TOKEN ? undefined : "-",
    flag: "--token-file",
    variable: "SVC_DESK_TOKEN",
  });

/** How a person signs in. @throws `bad_input` for two ways at once. */
function wayOf({ sign_in, device, token }: LoginInput): SignInWay {
  if ([sign_in, device, token].filter(Boolean).length > 1)
    throw badInput("sign_in, device, token: expected one of them");
  if (device) return "device";
  if (sign_in) return "browser";
  return token === undefined && !process.env.SVC_DESK_TOKEN && canAsk() ? "asks" : "never";
}

function endText(expires: string | null, isSession: boolean): string {
  if (expires === null) return "it never expires";
  return `it works until ${timeText(expires)}${isSession ? ", or until it is not used for a while" : ""}`;
}

/** What the desk at `url` is called: as it was typed, else its host name. @throws `bad_input` where that is none, or another desk's. */
function nameOf(url: string, { name: typed }: LoginInput, known: readonly Login[]): string {
  if (typed !== undefined) return typed;
  const { hostname } = new URL(url);
  const read = v.safeParse(DESK_NAME, hostname.replaceAll(/[^A-Za-z0-9.-]/g, ""));
  if (!read.success)
    throw badInput(`name: missing: ${printable(hostname, 100)} cannot be the name of a desk`);
  const name = read.output;
  const other = known.find((one) => one.name === name && one.url !== url);
  if (!other) return name;
  throw badInput(
    `name: missing: ${name} is ${other.url} already; \`svc logout ${name}\` forgets that one, with its token`,
  );
}

async function logIn(service: Service, globals: GlobalFlags, given: LoginInput): Promise<number> {
  const url = baseUrl(given.url ?? "");
  const known = loginsIn(service.configDir, service.log).all();
  const name = nameOf(url, given, known);
  const trust = await settleDesk(url, given, confirmPin);
  const person = await askPerson({ url, pin: trust.pin }, wayOf(given));
  const token = person?.token ?? given.token ?? (await askToken());
  if (!/^[\x21-\x7e]{1,512}$/.test(token))
    throw badInput("token: expected up to 512 visible ASCII characters");
  const desk: Login = { name, url, token, pin: trust.pin, token_name: null, expires: null };
  const rights = await askDesk(desk, tokenRights, {});
  const login: Login = { ...desk, token_name: rights.name, expires: person?.until ?? rights.expires };
  await service.prepareFolder();
  await loginsIn(service.configDir, service.log).keep(login);
  print(globals, { ...shownOf(login), scopes: rights.scopes }, () =>
    [
      `logged in to ${url} as desk ${name}`,
      `${person ? "session" : "token"}: ${printable(ownerText(rights.name), 130)} (${rights.scopes.join(", ")}); ${endText(login.expires, person !== undefined)}`,
      trust.pin === null ? trust.words : `pin: ${trust.pin}`,
      `svc --desk ${name} … asks it, and so does every command with SVC_DESK=${name}`,
    ].join("\n"),
  );
  const before = known.find((one) => one.name === name && one.url !== url);
  if (before) service.log.warn(`${name} was ${before.url}, whose token is no longer kept here`);
  if (given.trust_first) service.log.warn("compare the pin with what `svc pin` prints on the desk");
  return 0;
}

export default subcommand({
  describe: "Log in to a desk elsewhere, or list those that you have logged in to",
  desk: "ignores",
  input,
  positionals: ["url"],
  async run(given, globals) {
    const isAsked = given.list === true;
    if (isAsked === (given.url !== undefined)) throw badInput("url, list: expected one of them");
    return withService({ ...globals, desk: undefined }, async (service) =>
      isAsked ? list(service, globals) : logIn(service, globals, given),
    );
  },
  examples: [
    ["$0 login https://desk.lab:9939 --name lab", "Shows the pin, asks for the token"],
    ["$0 login https://desk.lab:9939 --pin spki:… < token", "The pin is known, the token on standard input"],
    ["$0 login https://desk.lab:9939 --sign-in", "Sign in at the provider of the desk, in a browser"],
    ["$0 login https://desk.lab:9939 --device", "The same with a browser elsewhere, such as a phone"],
    ["$0 --desk lab admin poll", "Ask that desk"],
    ["$0 login --list", "The desks, and which one SVC_DESK names"],
  ],
});
