/**
 * Robot Framework at a host of the address book, through this desk: the calls go on as they are, over HTTP, a link or NATS. The host
 * does no more than the token that is used here allows.
 */
import * as v from "valibot";
import { field, HOST_LABEL } from "../../core/fields";
import { operation } from "../../core/operation";
import { limitsOf } from "../../core/rights";
import { MAX_TIMEOUT_S } from "../../core/run";
import { forbidden, notFound } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { faultXml, xmlResponse } from "../../lib/xml-rpc/write";
import { MAX_ANSWER_BYTES, robotPath } from "../../wire/robot";
import type { AddressBook } from "../fleet/address-book";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "host" | "server">>;
}

/** How long the host may take until it has the call, in milliseconds. */
const SEND_MS = 30_000;

const hostCall = operation({
  name: "admin.robot",
  onHosts: true,
  summary: "Hand a call of Robot Framework on to a host of the address book",
  scope: "operate",
  acts: true,
  leftOut: { cli: "Robot Framework sends it", script: "it is for Robot Framework" },
  http: {
    method: "POST",
    path: "/robot/{label}",
    body: "call",
    content: "text/xml",
    relays: true,
    paced: true,
    fault: (status, message) => xmlResponse(faultXml(status, message)),
  },
  example: { label: "lab-07", call: "<methodCall><methodName>get_keyword_names</methodName></methodCall>" },
  input: v.strictObject({
    label: HOST_LABEL,
    call: field(v.string(), "A call of XML-RPC"),
  }),
  output: v.instance(Response),
  async run(service: Uses, { label, call }, caller) {
    if (caller.request?.headers?.has("origin")) throw forbidden("a page in a browser is no Robot Framework");
    const { grant } = caller;
    const book = await service.addressBook();
    const server = book.server(label);
    caller.request?.relay?.to(book.host(label).label);
    // The token of the host may allow more than that of the caller.
    const scopes = limitsOf(grant, true);
    // Loaded on first use: the modules for dialling are large.
    const [{ askHostFor }, { carrierTo }, { bodyOf }, { deadlineIn }] = await Promise.all([
      import("../../client/for-caller"),
      import("../../client/connection"),
      import("../../client/remote-call"),
      import("../../client/carrier"),
    ]);
    const answer = await askHostFor(label, caller, async (signal, client) => {
      using carrier = await carrierTo(server, signal, client);
      const request = { method: "POST", path: robotPath(scopes), body: call, once: true } as const;
      const limits = { deadline: deadlineIn(SEND_MS), answerWithinMs: MAX_TIMEOUT_S * 1_000 };
      const answered = await carrier.ask(request, { ...limits, maxBytes: MAX_ANSWER_BYTES });
      if (answered.status === 404)
        throw notFound(`${printable(label, 130)}: its svc does not know Robot Framework: upgrade it`);
      if (answered.status !== 200) bodyOf(answered);
      return answered;
    });
    return xmlResponse(answer.body);
  },
});

export const operations = [hostCall];
