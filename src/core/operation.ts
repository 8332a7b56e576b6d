/**
 * What an operation is: the one definition from which every surface (HTTP route, `AC_*` command, OpenAPI entry,
 * `/commands`, input check, redaction) is derived. The table of them is `operations.ts`.
 */
import type * as v from "valibot";
import type { Caller } from "./caller";
import type { Need, Permission } from "./rights";
import { baseOf, entryOf, metadataOf } from "./schema";

/** The fields of an input, by their snake_case names, each with a description. */
export type InputSchema = v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** What an operation answers with. */
export type OutputSchema = v.GenericSchema;

/** Where an operation is reachable over HTTP. */
export interface HttpRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** An OpenAPI path template (`/dashboard/{asset}`); its parameters are fields of the input. */
  readonly path: string;
  /**
   * Needs no token, spends from no bucket and leaves no audit row. `"signed"`: what it is sent proves who sends it, so it
   * needs no token either; but refusals are limited, and it is on record as what needs one.
   */
  readonly public?: true | "signed";
  /**
   * With `"signed"`: set where what it is sent proves nothing before it is looked at, so that any page might send it: its `Host` has to be a name
   * of this server, as that of a request with a token has.
   */
  readonly ownHost?: true;
  /** The field that is the whole body of a POST, as text where it is a text, else as JSON; the other fields are then its query. */
  readonly body?: string;
  /** Set where `run` returns the same object again as long as its answer is the same: its JSON is made once for each. */
  readonly settled?: true;
  /** Set for what is asked for again and again: it leaves a row by itself when it is refused only. */
  readonly routine?: true;
  /**
   * Set for libraries of tests, which ask many times a second and wait for each answer: it spends from a bucket of its own, which is
   * larger (`http/gate.ts`), and takes a token as the password of HTTP Basic too (RFC 7617), though from no page.
   */
  readonly paced?: true;
  /** Set where access tokens of the OpenID provider count too, and a 401 says where clients get one (RFC 9728). */
  readonly oauth?: true;
  /** Set where the last parameter of the path is all that follows, slashes too. */
  readonly tail?: true;
  /** The media type of a body that is not JSON; `run` then returns a `Response`. */
  readonly content?: string;
  /**
   * The media type of an answer that stays open, which `run` returns as a `Response` where the input asks for it. It ends
   * with its token, when the server stops, and when the certificate is exchanged: its client asks again.
   */
  readonly stream?: string;
  /**
   * The subprotocol of a WebSocket, which a GET becomes: `run` then returns a `SocketAnswer` (`socket.ts`).
   * A `signed` one proves who it is by its messages.
   */
  readonly socket?: string;
  /**
   * Set where it may take long: with `?wait=0` the answer is 202 and the id of a run, which is the operation itself (`run`), or
   * has this command as its only action.
   */
  readonly long?: "run" | `AC_${string}`;
  /** Set where doing it again is safe and its answer must not be kept: it takes no `Idempotency-Key`. */
  readonly repeatable?: true;
  /**
   * Set where it hands a request on to another host, which has limits and a log of its own: `run` says so by `caller.request.relay`. The
   * host's own token then spends from no bucket, a named one from one for each host.
   */
  readonly relays?: true;
  /** What each line is, where `content` is lines of JSON. */
  readonly line?: OutputSchema;
  /** Makes the answer to a failure, but for 401, where the protocol of its clients has one of its own. */
  fault?(status: number, message: string): Response;
}

/** The surfaces that are derived from the table. */
export type Surface = "http" | "script" | "cli";

/**
 * One thing that svc can do.
 *
 * `S` is the slice of the service that `run` uses: the feature declares what it needs, `service.ts` supplies it, and the
 * core knows no feature.
 */
export interface Operation<
  I extends InputSchema = InputSchema,
  O extends OutputSchema = OutputSchema,
  S extends object = object,
> {
  /** `noun.verb`, unique; the operationId of the API document, and on the command line `svc noun verb`. */
  readonly name: string;
  /** One line, imperative, without a full stop. */
  readonly summary: string;
  /** What a token must allow; `any` where it is about the token itself. */
  readonly scope: Need;
  /** With the scope `screen`: set where it shows nothing of the screen of this host before a person allows it, or nothing at all. */
  readonly asksFirst?: true;
  /**
   * Set when it changes something: it runs only after an audit row is on disk. With `true`, `call.ts` writes that row;
   * with `"announces"`, `run` calls `caller.announce` itself, as it knows more of the change. It goes on to its end when
   * its client has gone.
   */
  readonly changes?: true | "announces";
  /**
   * Set when its answer has secrets or shows the screen: like a change, it runs only after an audit row is on disk. With
   * `"announces"`, `run` sees to that, as it is asked for again and again (`throttled-audit.ts`).
   */
  readonly reveals?: true | "announces";
  /** Set when it does more than read, though it has no `changes`: it writes a file that its caller names, or carries calls of others. */
  readonly acts?: true;
  /**
   * Set when what it changes or reveals is not this host's: it leaves its audit row where one can be written, and runs all the
   * same where none can (a read-only container).
   */
  readonly elsewhere?: true;
  /**
   * What only one run at a time may use on this host: pointer, keyboard and focus. A run with such an action
   * holds the input lock (`host/desktop/input-lock.ts`) until it ends.
   */
  readonly uses?: "input";
  /**
   * Whether it is sure to use pointer and keyboard with this input, where that depends on it: its run then has its turn before it begins. Where
   * it may need them with another input, it takes a turn by itself once it does. Such an action leaves a row all the same.
   *
   * @param input as it was written where a variable is in it.
   */
  usesInput?(input: Readonly<Record<string, unknown>>): boolean;
  /** Set when it finds the window that the next actions are for: `"stop_on_error": "focus"` ends a list where it fails. */
  readonly aims?: true;
  /** Set when it finds what programs show by name: a trace then keeps what they show beside its pictures. */
  readonly named?: true;
  /** What this process must permit. Checked before a run; `run` itself checks it where there are other ways to it. */
  readonly needs?: Permission;
  /** The words after `svc`, where they are not those of `name`: `admin add`, `diagnose`. */
  readonly subcommand?: string;
  /** The surfaces that leave it out on purpose, and why. A surface that is not named here has it. */
  readonly leftOut?: Readonly<Partial<Record<Surface, string>>>;
  /**
   * Who answers the command line: this process (default); the server that runs on this `{config_dir}`, since the state is
   * in its memory; or that server where one runs, else this process. `"owner"`: as the last, and this process then owns the folder
   * for the time of the change. `"display"`: that server where it sees the display of this process, or where this process reaches none; else this process.
   */
  readonly answeredBy?: "server" | "server or here" | "owner" | "display";
  /**
   * Set where an action of a run in another process acts on the server that runs on this `{config_dir}`, if one does: what it is about
   * ends with that process, is only there, or is in a file that the owner of the folder writes (`answeredBy: "owner"`).
   */
  readonly serverInRuns?: true;
  /**
   * Set where who is limited to some hosts of the address book (`on` of the grant) may use it: it acts on no host that it does not find
   * in `addressBook()` of its service, and not on this one.
   */
  readonly onHosts?: true;
  /**
   * Set when it ends with who waits for it, though it changes something. A command that is to end says so to the server, and waits for
   * its answer.
   */
  readonly attended?: true;
  /** The name scripts call it by (`AC_…`). */
  readonly command?: `AC_${string}`;
  /** The commands of which one must enclose it, at any depth of action lists. */
  readonly within?: ReadonlyArray<`AC_${string}`>;
  readonly http?: HttpRoute;
  /** Arguments of an example call, for the reference; where the types alone make a sensible one it is left out. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** Query of a GET, body of a POST, keyword arguments of a command (positional ones follow its key order). */
  readonly input: I;
  readonly output: O;
  /** The plain value that a script gets in place of the answer, where existing scripts expect one. */
  readonly plain?: { readonly output: OutputSchema; of(answer: v.InferInput<O>): unknown };
  /** Its answer without what may be large, and why: for a client that does not read the answers that it has. */
  brief?(answer: v.InferInput<O>): v.InferInput<O>;
  /**
   * What is wrong with fields that are right each by itself; undefined where nothing is. An action is checked so before its
   * list runs, unless a variable is in one of them.
   */
  mismatch?(input: v.InferOutput<I>): { readonly field: string; readonly message: string } | undefined;
  /**
   * What the service alone knows of an action, looked at before a list with it runs: that there is the host which it names.
   *
   * @param input as it was written where a variable is in it.
   * @throws a failure that says why the list must not run.
   */
  precheck?(
    service: S,
    input: Readonly<Record<string, unknown>>,
    caller: Pick<Caller, "grant" | "signal">,
  ): Promise<void>;
  /**
   * The same input in words that whoever decides about it understands by themselves; it is this that is done then. @throws where it
   * names what there is not.
   */
  worded?(service: S, input: v.InferOutput<I>): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Looks whether there is anything to change or reveal, before that is on record: throws where there is not, and tells
   * nothing else. So what cannot be done leaves no folder behind.
   */
  requires?(service: S, input: v.InferOutput<I>): void;
  /**
   * A method, so that a table of operations with different inputs is one list.
   *
   * @throws a `Failure` for expected errors; anything else is a bug.
   */
  run(service: S, input: v.InferOutput<I>, caller: Caller): Promise<v.InferInput<O>> | v.InferInput<O>;
}

/**
 * What a caller on another machine has to know of an operation: how to reach it, what to send, what comes back. The side that calls
 * and the side that runs it share one.
 */
export type Endpoint<I extends InputSchema = InputSchema, O extends OutputSchema = OutputSchema> = Pick<
  Operation<I, O>,
  "name" | "http" | "command" | "input" | "output"
>;

/** Gives a literal endpoint its types and returns it. */
export function endpoint<const I extends InputSchema, O extends OutputSchema>(
  definition: Endpoint<I, O>,
): Endpoint<I, O> {
  return definition;
}

/** Gives a literal definition its types and returns it. The type of `run`'s first parameter is the slice of the service. */
export function operation<const I extends InputSchema, O extends OutputSchema, S extends object = object>(
  definition: Operation<I, O, S>,
): Operation<I, O, S> {
  return definition;
}

/** The scopes that only let a token look; `any` is about the token itself. */
const LOOKING: readonly Need[] = ["metrics", "read", "screen", "audit", "any"];

/**
 * Whether it only reads: it changes nothing, and its scope lets nobody act. What merely has no `changes` may do more: flow
 * commands run others, and what needs `admin` may show a secret.
 */
export const isReadOnly = ({ scope, changes, acts, uses, http }: Operation): boolean =>
  LOOKING.includes(scope) && !changes && !acts && !uses && http?.public !== "signed";

/** Whether other hosts can be asked for it: over a route that answers with JSON. */
export const isAskable = ({ http, input }: Operation): boolean =>
  http !== undefined && !http.public && !http.content && !Object.hasOwn(input.entries, "on");

/** Whether the body of its request is text, not JSON: the field that is the whole of it is a text. */
export function takesText({ http, input }: Pick<Operation, "http" | "input">): boolean {
  const entry = http?.body === undefined ? undefined : entryOf(input, http.body);
  return entry !== undefined && baseOf(entry).type === "string";
}

/** The longest path that goes on record as it is, in characters. */
const MAX_PATH = 200;

/**
 * `input` as it may be logged: secret fields, and what the schema does not know, replaced by `"***"`; the content of a file by
 * its digest.
 */
export function redact(
  schema: InputSchema,
  input: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const known = (name: string, value: unknown) => {
    const entry = entryOf(schema, name);
    if (entry === undefined || metadataOf(entry).secret) return "***";
    const isContent = metadataOf(entry).content && typeof value === "string" && value.length > MAX_PATH;
    return isContent ? `sha256:${Bun.SHA256.hash(value, "hex")}` : value;
  };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, known(name, value)]));
}
