/** WebDriver over HTTP, as operations. */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field, secret } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { limitedTo } from "../../../core/rights";
import { handedOn, type Request } from "../../../wire/webdriver/endpoint";
import type { Webdriver } from "./webdriver";

interface Uses {
  webdriver(): Promise<Webdriver>;
}

const LEFT_OUT = { cli: "it is for WebDriver clients", script: "it is for WebDriver clients" };
const COMMAND = field(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(2_000)),
  "The command as the standard writes it: session/{session id}/element",
);
const ROUTE = {
  path: "/webdriver/{command}",
  content: "application/json",
  paced: true,
  tail: true,
  fault: (status: number, message: string) => responseOf({ status, value: refusal(message) }),
} as const;

/** A request that reaches no command, as clients read it. */
const refusal = (message: string) => ({ error: "unknown error", message, stacktrace: "" });

/** An answer as the standard wants it (W3C WebDriver, section 6.6). */
function responseOf({ status, value }: { readonly status: number; readonly value: unknown }): Response {
  const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-cache" };
  return new Response(JSON.stringify({ value }), { status, headers });
}

async function answer(
  service: Uses,
  method: Request["method"],
  command: string,
  body: unknown,
  caller: Caller,
) {
  const request = { method, path: `/${command}`, body };
  return responseOf(await (await service.webdriver()).answer(request, caller));
}

const withoutBody = (method: "GET" | "DELETE", verb: string, summary: string) =>
  operation({
    name: `webdriver.${verb}`,
    summary,
    scope: "any",
    acts: true,
    leftOut: LEFT_OUT,
    http: { method, ...ROUTE, relays: true },
    example: { command: "status" },
    input: v.strictObject({ command: COMMAND }),
    output: v.instance(Response),
    run: (service: Uses, { command }, caller) => answer(service, method, command, null, caller),
  });

export const operations = [
  withoutBody("GET", "look", "Answer a command of WebDriver that looks (W3C WebDriver)"),
  withoutBody("DELETE", "end", "Answer a command of WebDriver that ends something"),
  operation({
    name: "webdriver.act",
    summary: "Answer a command of WebDriver: make a session, find elements, use them",
    scope: "any",
    acts: true,
    leftOut: LEFT_OUT,
    http: { method: "POST", ...ROUTE, body: "parameters", relays: true, repeatable: true },
    example: { command: "session", parameters: { capabilities: {} } },
    input: v.strictObject({
      command: COMMAND,
      parameters: field(secret(v.optional(v.unknown(), null)), "Parameters of the command"),
    }),
    output: v.instance(Response),
    run: (service: Uses, { command, parameters }, caller) =>
      answer(service, "POST", command, parameters, caller),
  }),
  operation({
    ...handedOn,
    summary: "Answer a command of WebDriver that a desk hands on",
    scope: "any",
    acts: true,
    leftOut: LEFT_OUT,
    async run(service: Uses, { method, path, body, scopes }, caller) {
      const limited = { ...caller, grant: limitedTo(caller.grant, scopes) };
      const { status, value } = await (await service.webdriver()).answer({ method, path, body }, limited);
      return { status, value };
    },
  }),
];
