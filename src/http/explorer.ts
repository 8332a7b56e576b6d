/**
 * The API explorer: Swagger UI on this server's own API document (`explorer/` in the source tree).
 *
 * The imports are literal, so that the bundler sees each file and the binary has it.
 */

import swaggerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import swaggerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import script from "../../explorer/explorer.js" with { type: "file" };
import page from "../../explorer/index.html" with { type: "file" };
import style from "../../explorer/style.css" with { type: "file" };
import { createPageAssets, type PageAssets } from "./assets";

/** Nothing from elsewhere and nothing inline; Swagger UI's style sheet has its icons as `data:`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function createExplorer(): PageAssets {
  return createPageAssets({
    path: "docs",
    page,
    policy: POLICY,
    assets: {
      "explorer.js": script,
      "style.css": style,
      "swagger-ui-bundle.js": swaggerScript,
      "swagger-ui.css": swaggerStyle,
    },
  });
}
