/** Robot Framework over HTTP, as an operation. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { limitedTo, SCOPES } from "../../core/rights";
import { forbidden } from "../../lib/errors";
import { faultXml, xmlResponse } from "../../lib/xml-rpc/write";

interface Uses {
  robot(): Promise<{ answer(xml: string, caller: Caller): Promise<string> }>;
}

const takeCall = operation({
  name: "robot.call",
  summary: "Take a call of Robot Framework (remote library interface, XML-RPC)",
  scope: "any",
  acts: true,
  leftOut: { cli: "`svc robot` serves it on this machine", script: "it is for Robot Framework" },
  http: {
    method: "POST",
    path: "/robot",
    body: "call",
    content: "text/xml",
    paced: true,
    fault: (status, message) => xmlResponse(faultXml(status, message)),
  },
  example: { call: "<methodCall><methodName>get_keyword_names</methodName></methodCall>" },
  input: v.strictObject({
    call: field(v.string(), "A call of XML-RPC"),
    scope: field(
      v.optional(v.pipe(v.array(v.picklist(SCOPES)), v.maxLength(SCOPES.length))),
      "Scopes that it is limited to, of those of the token (default: all)",
    ),
  }),
  output: v.instance(Response),
  async run(service: Uses, { call, scope }, caller) {
    // A page in a browser may have the password of another time; Robot names no page.
    if (caller.request?.headers?.has("origin")) throw forbidden("a page in a browser is no Robot Framework");
    const grant = scope === undefined ? caller.grant : limitedTo(caller.grant, scope);
    const library = await service.robot();
    return xmlResponse(await library.answer(call, { ...caller, grant }));
  },
});

export const operations = [takeCall];
