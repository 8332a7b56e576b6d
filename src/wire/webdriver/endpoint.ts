/** How a desk hands a command of WebDriver on to a host. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, secret } from "../../core/fields";
import { endpoint } from "../../core/operation";
import { type Grant, SCOPE } from "../../core/rights";
import { type Answer, STATUSES } from "./errors";

/** Whose a session is: that of a token that got the name later is another's, and so is that of a part of its rights. */
export const ownerOf = ({ name, since, limited }: Grant) => `${name ?? ""} ${since ?? ""} ${limited ?? ""}`;

/** A command as it came. */
export interface Request {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below `/webdriver`, with its first slash. */
  readonly path: string;
  readonly body: unknown;
}

/** Sessions on other hosts, which a desk hands commands on to. */
export interface Elsewhere {
  /** Whether a session of that id is on another host. */
  has(id: string): boolean;
  /** Makes a session there. @returns the value of the answer. */
  create(label: string, body: unknown, caller: Caller): Promise<unknown>;
  ask(id: string, request: Request, caller: Caller): Promise<Answer>;
}

/** Answers a command that a desk hands on; `status` and `value` are those of the standard. */
export const handedOn = endpoint({
  name: "webdriver.handed_on",
  http: { method: "POST", path: "/webdriver_command", paced: true },
  input: v.strictObject({
    method: field(v.picklist(["GET", "POST", "DELETE"]), "Method of the command"),
    path: field(
      v.pipe(v.string(), v.startsWith("/"), v.maxLength(2_000)),
      "Path of the command, below /webdriver",
    ),
    // What is typed is in it.
    body: field(secret(v.optional(v.unknown(), null)), "Parameters of the command"),
    scopes: field(v.pipe(v.array(SCOPE), v.maxLength(32)), "What the client may do"),
  }),
  // What another host says may be anything.
  output: v.object({ status: v.picklist(STATUSES), value: v.unknown() }),
});
