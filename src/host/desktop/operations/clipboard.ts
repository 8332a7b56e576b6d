/**
 * The operations of the clipboard.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { field, judged, NO_INPUT, secret } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { inputOperation, NO_ROUTE, type Uses } from "./input-operation";

/** In characters; over HTTP a body ends before. */
const MAX_TEXT = 1_000_000;

const getClipboard = operation({
  name: "desktop.get_clipboard",
  summary: "Get the text of the clipboard; empty when it holds nothing",
  scope: "screen",
  reveals: true,
  command: "AC_get_clipboard",
  leftOut: NO_ROUTE,
  input: NO_INPUT,
  output: secret(v.string()),
  run: async (service: Uses, _input, caller) => (await service.desktop()).clipboard(requesterOf(caller)),
});

const setClipboard = inputOperation("set_clipboard", {
  summary: "Put a text on the clipboard, for as long as svc runs",
  example: { text: "Grüße" },
  leftOut: { ...NO_ROUTE, cli: "the text is gone when the process ends: use it in a script" },
  input: v.strictObject({
    text: field(judged(v.pipe(v.string(), v.maxLength(MAX_TEXT))), "Any text; it may be secret"),
  }),
  output: v.null(),
  perform: (desktop, { text }, requester) => desktop.setClipboard(text, requester).then(() => null),
});

export const operations = [getClipboard, setClipboard];
