/** Calls that only read: done at once, here or on other hosts. */
import type { Operation } from "../../core/operation";
import { allows } from "../../core/rights";
import { forbidden } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { type AgentCall, type CallsParts, callerFor, type Fields, partsOf } from "./agent-call";
import { MAX_TEXT, type ToolResult, text, UNTRUSTED } from "./content";
import { userOf } from "./grant";
import { traceLinks } from "./resources";
import { isPicture } from "./tools";

/** Does what only reads, here or on other hosts. */
export async function read(
  { operations, hosts, pictures, perform }: Pick<CallsParts, "operations" | "hosts" | "pictures" | "perform">,
  operation: Operation,
  given: Fields,
  usable: readonly Operation[],
  asking: AgentCall,
): Promise<ToolResult> {
  const { fields, on, side } = partsOf(operations, operation, given, hosts !== null);
  const caller = callerFor(operation, asking);
  if (on !== undefined && hosts) {
    if (!allows(caller.grant, "operate")) throw forbidden("on: asking other hosts needs operate");
    const answers = await hosts.ask(on, operation, fields, caller.signal);
    const each = Math.floor(MAX_TEXT / answers.length);
    const { contentOf, pictureOf } = await import("./picture");
    const shown = answers.map(async (answer) =>
      answer.ok && isPicture(operation)
        ? [text(`Host ${printable(answer.label, 130)}:`), ...(await pictureOf(answer.result, { side }))]
        : contentOf(answer, { most: each }),
    );
    return { content: (await Promise.all(shown)).flat(), _meta: UNTRUSTED };
  }
  const answer = await perform(operation, fields, caller);
  const { contentOf, pictureOf } = await import("./picture");
  const keep = (png: Uint8Array) => pictures.keep(userOf(caller.grant), operation, png);
  const shown = await (isPicture(operation)
    ? pictureOf(answer, { side, keep })
    : contentOf(answer, { keep }));
  return { content: [...shown, ...traceLinks(operation, fields, answer, usable)], _meta: UNTRUSTED };
}
