/**
 * A place in the owner's queue for pointer and keyboard, for a run of another process of this host: the call stays open, and its end
 * frees them.
 */
import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { badInput } from "../../lib/errors";
import { Requester } from "../../lib/slots";
import type { Uses } from "./operations/input-operation";

const BY_SVC = "a process of the same user asks so for a run of its own";

/** What the process is told, a piece each: that it waits, at most once, and that it has pointer and keyboard. */
export const [WAITING, TAKEN] = ["waiting", "taken"];

export const takeInput = operation({
  name: "input.take",
  summary: "Wait for pointer and keyboard for a run of another process, and hold them until it goes",
  scope: "admin",
  answeredBy: "server",
  leftOut: { http: BY_SVC, cli: BY_SVC, script: BY_SVC },
  input: v.strictObject({
    who: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)), "Who wants them, for those that wait"),
  }),
  output: v.instance(Response),
  async run(service: Uses, { who }, { signal, request }) {
    const gone = request?.gone;
    if (!gone) throw badInput("input.take: is for processes of this host alone");
    const { inputLock } = await service.desktop();
    const encoder = new TextEncoder();
    return new Response(
      new ReadableStream<Uint8Array>({
        async start(answer) {
          const say = (piece: string) => answer.enqueue(encoder.encode(piece));
          const hold = await inputLock.take(new Requester(null, signal), who, () => say(WAITING));
          say(TAKEN);
          if (!signal.aborted)
            await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          // The process releases keys and buttons itself.
          await hold.end("finished");
          answer.close();
        },
      }),
    );
  },
});
