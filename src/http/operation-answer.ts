/** What an operation returned, or why it failed, as a response. */
import { PacedAnswer } from "../core/paced-answer";
import { failureOf, isNoScreen, messageOf } from "../lib/errors";
import { hasLongList, jsonInSlices } from "../lib/json-slices";
import type { Log } from "../lib/log";
import type { Exchange } from "./exchange";
import type { Keeper } from "./repeats";
import { content, errorResponse, failureResponse, isEventStream } from "./responses";
import type { RoutedOperation } from "./route";
import type { Reader, UnreadAnswers } from "./unread";

/** Makes the answers of one operation: `respond` of what it returned, `fail` of what it threw. */
export function createResponder(
  operation: RoutedOperation,
  { unread, log }: { readonly unread: UnreadAnswers; readonly log: Log },
) {
  const { settled, line } = operation.http;
  const textOnce = createTextOnce();
  /** A file of a page, whose bytes all its readers share. */
  const isForAll = operation.http.public === true;
  const respond = (result: unknown, reader: Reader, keeper?: Keeper) => {
    if (result instanceof Response) {
      if (result instanceof PacedAnswer || isForAll) return content(result);
      if (line && result.status === 200)
        return content(unread.follow(keeper?.lines(result) ?? result, reader, true));
      if (isEventStream(result)) return content(unread.follow(result, reader, false));
      return unread.whole(content(result), reader, !operation.changes);
    }
    const written = (text: string) => {
      keeper?.text(text);
      return unread.respond(text, reader, {
        isRead: !operation.changes,
        brief: operation.brief && (() => JSON.stringify(operation.brief?.(result))),
      });
    };
    if (settled) return written(textOnce(result));
    return hasLongList(result) ? jsonInSlices(result).then(written) : written(JSON.stringify(result));
  };
  const fail = (thrown: unknown, exchange: Exchange) => {
    if (isNoScreen(thrown)) exchange.lacks = "screen";
    const failure = failureOf(thrown);
    if (failure === undefined) {
      log.error(`${operation.name} failed: ${messageOf(thrown)}`, thrown);
      return errorResponse(500, "internal error");
    }
    // A client that has gone is no fault of this host.
    if (failure !== thrown && failure.code !== "cancelled")
      log.error(`${operation.name}: ${messageOf(thrown)}`);
    return failureResponse(failure);
  };
  return { respond, fail };
}

/** `JSON.stringify`, once as long as it is given the same object. */
function createTextOnce(): (value: unknown) => string {
  let last: { readonly value: unknown; readonly text: string } = { value: undefined, text: "" };
  return (value) => {
    if (value !== last.value) last = { value, text: JSON.stringify(value) };
    return last.text;
  };
}
