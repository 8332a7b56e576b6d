/**
 * Thumbnails of the screens of hosts, for the wall of a desk. Each host has limits and a log of its own.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { AT_DESKTOP } from "../../../core/desktop-request";
import { field, HOST_LABEL, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { digestText, matches } from "../../../lib/etag";
import { printable } from "../../../lib/sanitize";
import type { AddressBook } from "../address-book";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "server">>;
  thumbnails(): Promise<{ onRecord(caller: Caller, subject: string): Promise<void> }>;
}

/** How long a host may take, in milliseconds: the next picture is due soon. */
const ANSWER_MS = 10_000;
/** The largest picture: ten times what one of 1920 pixels of noise has. */
const MAX_BYTES = 4 * 1_048_576;

const hostThumbnail = operation({
  name: "admin.host_thumbnail",
  onHosts: true,
  summary: "Return a small picture of the screen of a host of the address book; 304 while it has not changed",
  scope: "screen",
  asksFirst: true,
  reveals: "announces",
  leftOut: {
    cli: "`svc screenshot --on HOST` takes a picture",
    script: "AC_screenshot takes a picture, on each host of a broadcast",
  },
  http: {
    method: "GET",
    path: "/admin/hosts/{label}/screen/thumbnail",
    content: "image/jpeg",
    relays: true,
    routine: true,
  },
  input: v.strictObject({
    label: HOST_LABEL,
    width: field(v.optional(whole(16, 1_920), 320), "Width, pixels; a smaller screen has fewer"),
    desktop: AT_DESKTOP,
  }),
  output: v.instance(Response),
  async run(service: Uses, { label, width, desktop }, caller) {
    const book = await service.addressBook();
    const server = book.server(label);
    caller.request?.relay?.to(label);
    await (await service.thumbnails()).onRecord(
      caller,
      `admin.host_thumbnail label=${printable(JSON.stringify(label), 130)}: looks at small pictures of ${desktop === undefined ? "its screen" : `its desktop ${desktop}`}`,
    );
    // Loaded on first use: the modules for dialling are large.
    const { getFromHost } = await import("../../../client/for-caller");
    const seen = caller.request?.headers?.get("if-none-match");
    const condition = seenOf(seen);
    const path = `/screen/thumbnail?width=${width}${desktop === undefined ? "" : `&desktop=${desktop}`}${condition}`;
    const how = { ms: ANSWER_MS, maxBytes: MAX_BYTES, mayBeSame: condition !== "" };
    const { status, body } = await getFromHost({ label, server }, path, how, caller);
    const headers = { "cache-control": "private, no-cache" };
    if (status === 304) return new Response(null, { status, headers: { ...headers, etag: seen ?? "" } });
    const etag = `"${digestText(body)}"`;
    if (matches(seen, etag)) return new Response(null, { status: 304, headers: { ...headers, etag } });
    return new Response(body, { headers: { ...headers, etag, "content-type": "image/jpeg" } });
  },
});

/** The picture that the client has, for a host: no header goes there. */
function seenOf(etag: string | null | undefined): string {
  const [, digest] = /^"([\w-]{1,64})"$/.exec(etag ?? "") ?? [];
  return digest ? `&seen=${digest}` : "";
}

export const operations = [hostThumbnail];
