/**
 * What the screens of hosts have shown, from their black boxes, through this desk: for its pages, and for `svc screen at HOST TIME`. Each host
 * has limits and a log of its own, and the desk has a row that names the person.
 */
import * as v from "valibot";
import { HOST_LABEL } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { AT_TIME, keptEndpoint, screenAtEndpoint, spansEndpoint } from "../../../wire/screen/black-box";
import { type AskUses, askHost } from "../ask-host";

/** How long a host may take: a picture is made of all that has changed since its segment began, ten minutes at most; in milliseconds. */
const PICTURE_MS = 30_000;
/** The largest picture, as PNG in base64. */
const MOST_BYTES = 32 * 1_048_576;
/** How long it may take to tell what it has, in milliseconds. */
const SPANS_MS = 15_000;

const FOR_PEOPLE = "a person looks at what was; a script sees the screen of now";

/** The picture of a host of the address book. `svc screen at HOST TIME` asks it too. */
export const screenOfHostAt = operation({
  name: "admin.screen_at",
  onHosts: true,
  summary:
    "Return the picture that the screen of a host of the address book showed at a time, from its black box",
  scope: "screen",
  asksFirst: true,
  reveals: true,
  leftOut: { cli: "`svc screen at HOST TIME` asks it", script: FOR_PEOPLE },
  http: { method: "GET", path: "/admin/hosts/{label}/screen/at", relays: true },
  input: v.strictObject({ label: HOST_LABEL, time: AT_TIME }),
  output: screenAtEndpoint.output,
  run: (service: AskUses, { label, time }, caller) =>
    askHost(service, label, screenAtEndpoint, { time }, caller, { ms: PICTURE_MS, maxBytes: MOST_BYTES }),
});

const spansOfHost = operation({
  name: "admin.black_box_spans",
  onHosts: true,
  summary: "List the spans of time that the black box of a host of the address book has, the oldest first",
  scope: "screen",
  asksFirst: true,
  leftOut: { cli: "`svc black-box spans --on HOST` lists them", script: FOR_PEOPLE },
  http: { method: "GET", path: "/admin/hosts/{label}/black-box/spans", relays: true },
  input: v.strictObject({ label: HOST_LABEL }),
  output: spansEndpoint.output,
  run: (service: AskUses, { label }, caller) =>
    askHost(service, label, spansEndpoint, {}, caller, { ms: SPANS_MS }),
});

const keptOfHost = operation({
  name: "admin.black_box_kept",
  onHosts: true,
  summary:
    "List the failed runs for which the black box of a host of the address book keeps the minutes before, newest first",
  scope: "read",
  leftOut: { cli: "`svc black-box kept --on HOST` lists them", script: FOR_PEOPLE },
  http: { method: "GET", path: "/admin/hosts/{label}/black-box/kept", relays: true },
  input: v.strictObject({ label: HOST_LABEL }),
  output: keptEndpoint.output,
  run: (service: AskUses, { label }, caller) =>
    askHost(service, label, keptEndpoint, {}, caller, { ms: SPANS_MS }),
});

export const operations = [screenOfHostAt, spansOfHost, keptOfHost];
