/**
 * The files of the two pages: the dashboard (`dashboard/` in the source tree), and the API explorer (`explorer/`), which is
 * Swagger UI on this server's own API document.
 *
 * The imports are literal, so that the bundler embeds each file in the binary.
 */

import swaggerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import swaggerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import uplot from "uplot/dist/uPlot.esm.js" with { type: "file" };
import uplotStyle from "uplot/dist/uPlot.min.css" with { type: "file" };
import actions from "../../dashboard/actions.js" with { type: "file" };
import admin from "../../dashboard/admin.js" with { type: "file" };
import api from "../../dashboard/api.js" with { type: "file" };
import audit from "../../dashboard/audit.js" with { type: "file" };
import broadcast from "../../dashboard/broadcast.js" with { type: "file" };
import diagnostics from "../../dashboard/diagnostics.js" with { type: "file" };
import dialog from "../../dashboard/dialog.js" with { type: "file" };
import dom from "../../dashboard/dom.js" with { type: "file" };
import format from "../../dashboard/format.js" with { type: "file" };
import icon from "../../dashboard/icon.svg" with { type: "file" };
import icons from "../../dashboard/icons.js" with { type: "file" };
import page from "../../dashboard/index.html" with { type: "file" };
import inspector from "../../dashboard/inspector.js" with { type: "file" };
import jobs from "../../dashboard/jobs.js" with { type: "file" };
import main from "../../dashboard/main.js" with { type: "file" };
import overview from "../../dashboard/overview.js" with { type: "file" };
import pages from "../../dashboard/pages.js" with { type: "file" };
import paging from "../../dashboard/paging.js" with { type: "file" };
import parts from "../../dashboard/parts.js" with { type: "file" };
import plot from "../../dashboard/plot.js" with { type: "file" };
import reference from "../../dashboard/reference.js" with { type: "file" };
import runs from "../../dashboard/runs.js" with { type: "file" };
import screen from "../../dashboard/screen.js" with { type: "file" };
import script from "../../dashboard/script.js" with { type: "file" };
import server from "../../dashboard/server.js" with { type: "file" };
import signIn from "../../dashboard/sign-in.js" with { type: "file" };
import style from "../../dashboard/style.css" with { type: "file" };
import sync from "../../dashboard/sync.js" with { type: "file" };
import table from "../../dashboard/table.js" with { type: "file" };
import usb from "../../dashboard/usb.js" with { type: "file" };
import view from "../../dashboard/view.js" with { type: "file" };
import explorerScript from "../../explorer/explorer.js" with { type: "file" };
import explorerPage from "../../explorer/index.html" with { type: "file" };
import explorerStyle from "../../explorer/style.css" with { type: "file" };
import { createPageAssets, type PageAssets } from "./assets";

/** A Content-Security-Policy: nothing from other origins and nothing inline, but for what `more` allows. */
const policy = (...more: string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join("; ");

export const createDashboard = (): PageAssets =>
  createPageAssets({
    path: "dashboard",
    page,
    // Screenshots are `blob:`; no string ever becomes markup or script.
    policy: policy("img-src 'self' blob:", "require-trusted-types-for 'script'", "trusted-types 'none'"),
    assets: {
      "actions.js": actions,
      "admin.js": admin,
      "api.js": api,
      "audit.js": audit,
      "broadcast.js": broadcast,
      "diagnostics.js": diagnostics,
      "dialog.js": dialog,
      "dom.js": dom,
      "format.js": format,
      "icon.svg": icon,
      "icons.js": icons,
      "inspector.js": inspector,
      "jobs.js": jobs,
      "main.js": main,
      "overview.js": overview,
      "pages.js": pages,
      "paging.js": paging,
      "parts.js": parts,
      "plot.js": plot,
      "reference.js": reference,
      "runs.js": runs,
      "screen.js": screen,
      "script.js": script,
      "server.js": server,
      "sign-in.js": signIn,
      "style.css": style,
      "sync.js": sync,
      "table.js": table,
      "uplot.css": uplotStyle,
      "uplot.js": uplot,
      "usb.js": usb,
      "view.js": view,
    },
  });

export const createExplorer = (): PageAssets =>
  createPageAssets({
    path: "docs",
    page: explorerPage,
    // The icons of Swagger UI are `data:`.
    policy: policy("img-src 'self' data:"),
    assets: {
      "explorer.js": explorerScript,
      "style.css": explorerStyle,
      "swagger-ui-bundle.js": swaggerScript,
      "swagger-ui.css": swaggerStyle,
    },
  });
