/**
 * Thumbnails of the screen, for the wall of a desk.
 */
import * as v from "valibot";
import { AT_DESKTOP } from "../../../../core/desktop-request";
import { field, whole } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import type { Grant } from "../../../../core/rights";
import { matches } from "../../../../lib/etag";
import type { Thumbnails } from "./thumbnails";

interface Uses {
  screens(): Promise<{ requireTrusted(grant: Grant): void }>;
  thumbnails(): Promise<Thumbnails>;
}

const thumbnail = operation({
  name: "screen.thumbnail",
  summary: "Return a small picture of the screen, a JPEG; 304 while it has not changed",
  scope: "screen",
  reveals: "announces",
  leftOut: {
    cli: "`svc screenshot` takes a picture",
    script: "AC_screenshot takes a picture",
  },
  http: { method: "GET", path: "/screen/thumbnail", content: "image/jpeg", routine: true },
  input: v.strictObject({
    width: field(v.optional(whole(16, 1_920), 320), "Width, pixels; a smaller screen has fewer"),
    desktop: AT_DESKTOP,
    seen: field(
      v.optional(v.pipe(v.string(), v.maxLength(64))),
      "The ETag of the picture that the client has, where it cannot send If-None-Match",
    ),
  }),
  output: v.instance(Response),
  async run(service: Uses, { width, desktop, seen }, caller) {
    const [thumbnails, screens] = await Promise.all([service.thumbnails(), service.screens()]);
    screens.requireTrusted(caller.grant);
    const { bytes, digest } = await thumbnails.get(width, desktop);
    await thumbnails.onRecord(caller, "screen.thumbnail: looks at small pictures of the screen");
    const etag = `"${digest}"`;
    const headers = { etag, "cache-control": "private, no-cache" };
    if (seen === digest || matches(seen ?? caller.request?.headers?.get("if-none-match"), etag)) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(bytes, { headers: { ...headers, "content-type": "image/jpeg" } });
  },
});

export const operations = [thumbnail];
