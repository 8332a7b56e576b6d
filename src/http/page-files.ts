/**
 * The files of the two pages: the dashboard (`dashboard/` in the source tree), and the API explorer (`explorer/`), which is
 * Swagger UI on this server's own API document.
 *
 * The paths in the imports are literal, so that the bundler embeds each file in the binary.
 */
import { browserModule } from "../lib/browser-module";
import { createPageAssets } from "./assets";

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

/** The paths of files, each from an `import()` of its own. */
async function pathsOf(files: Readonly<Record<string, Promise<{ readonly default: string }>>>) {
  const paths = Object.entries(files).map(async ([name, file]) => [name, (await file).default] as const);
  return Object.fromEntries(await Promise.all(paths));
}

const hostFiles = () =>
  pathsOf({
    "hosts.js": import("../../dashboard/desk/hosts/hosts.js", { with: { type: "file" } }),
    "host-acts.js": import("../../dashboard/desk/hosts/host-acts.js", { with: { type: "file" } }),
    "host-asked.js": import("../../dashboard/desk/hosts/host-asked.js", { with: { type: "file" } }),
    "host-bulk.js": import("../../dashboard/desk/hosts/host-bulk.js", { with: { type: "file" } }),
    "host-list.js": import("../../dashboard/desk/hosts/host-list.js", { with: { type: "file" } }),
    "host-menu.js": import("../../dashboard/desk/hosts/host-menu.js", { with: { type: "file" } }),
    "host-order.js": import("../../dashboard/desk/hosts/host-order.js", { with: { type: "file" } }),
    "host-page.js": import("../../dashboard/desk/hosts/host-page.js", { with: { type: "file" } }),
    "host-peek.js": import("../../dashboard/desk/hosts/host-peek.js", { with: { type: "file" } }),
    "host-rows.js": import("../../dashboard/desk/hosts/host-rows.js", { with: { type: "file" } }),
    "host-row.js": import("../../dashboard/desk/hosts/host-row.js", { with: { type: "file" } }),
    "host-search.js": import("../../dashboard/desk/hosts/host-search.js", { with: { type: "file" } }),
    "host-tabs.js": import("../../dashboard/desk/hosts/host-tabs.js", { with: { type: "file" } }),
    "host-words.js": import("../../dashboard/desk/hosts/host-words.js", { with: { type: "file" } }),
  });

const liveFiles = () =>
  pathsOf({
    "live.js": import("../../dashboard/host/live.js", { with: { type: "file" } }),
    "live-box.js": import("../../dashboard/host/live-box.js", { with: { type: "file" } }),
    "live-carrier.js": import("../../dashboard/host/live-carrier.js", { with: { type: "file" } }),
    "live-keys.js": import("../../dashboard/host/live-keys.js", { with: { type: "file" } }),
    "live-notes.js": import("../../dashboard/host/live-notes.js", { with: { type: "file" } }),
    "live-parts.js": import("../../dashboard/host/live-parts.js", { with: { type: "file" } }),
    "live-picker.js": import("../../dashboard/host/live-picker.js", { with: { type: "file" } }),
    "live-place.js": import("../../dashboard/host/live-place.js", { with: { type: "file" } }),
    "live-wall.js": import("../../dashboard/desk/live-wall.js", { with: { type: "file" } }),
    "live-watch.js": import("../../dashboard/host/live-watch.js", { with: { type: "file" } }),
  });

const overviewFiles = () =>
  pathsOf({
    "overview.js": import("../../dashboard/host/overview.js", { with: { type: "file" } }),
    "overview-glances.js": import("../../dashboard/host/overview-glances.js", { with: { type: "file" } }),
    "overview-line.js": import("../../dashboard/host/overview-line.js", { with: { type: "file" } }),
    "overview-screen.js": import("../../dashboard/host/overview-screen.js", { with: { type: "file" } }),
  });

const scriptFiles = () =>
  pathsOf({
    "json-pieces.js": import("../../dashboard/host/json-pieces.js", { with: { type: "file" } }),
    "reference.js": import("../../dashboard/host/reference.js", { with: { type: "file" } }),
    "script.js": import("../../dashboard/host/script.js", { with: { type: "file" } }),
    "script-checks.js": import("../../dashboard/host/script-checks.js", { with: { type: "file" } }),
    "script-run.js": import("../../dashboard/host/script-run.js", { with: { type: "file" } }),
    "script-source.js": import("../../dashboard/host/script-source.js", { with: { type: "file" } }),
    "script-steps.js": import("../../dashboard/host/script-steps.js", { with: { type: "file" } }),
    "script-views.js": import("../../dashboard/host/script-views.js", { with: { type: "file" } }),
    "scripts.js": import("../../dashboard/host/scripts.js", { with: { type: "file" } }),
    "step-details.js": import("../../dashboard/host/step-details.js", { with: { type: "file" } }),
    "step-list.js": import("../../dashboard/host/step-list.js", { with: { type: "file" } }),
    "trace-parts.js": import("../../dashboard/host/trace-parts.js", { with: { type: "file" } }),
    "trace-viewer.js": import("../../dashboard/host/trace-viewer.js", { with: { type: "file" } }),
  });

const apiFiles = () =>
  pathsOf({
    "api.js": import("../../dashboard/api.js", { with: { type: "file" } }),
    "api-error.js": import("../../dashboard/api-error.js", { with: { type: "file" } }),
    "credentials.js": import("../../dashboard/credentials.js", { with: { type: "file" } }),
    "patience.js": import("../../dashboard/patience.js", { with: { type: "file" } }),
    "session.js": import("../../dashboard/session.js", { with: { type: "file" } }),
    "shared-answers.js": import("../../dashboard/shared-answers.js", { with: { type: "file" } }),
    "sign-in.js": import("../../dashboard/sign-in.js", { with: { type: "file" } }),
    "silence.js": import("../../dashboard/silence.js", { with: { type: "file" } }),
  });

// Screenshots are `blob:`, and pictures in the live screen `data:` (noVNC).
const PAGE_SOURCES = "img-src 'self' blob: data:";

export const createDashboard = async () =>
  createPageAssets({
    path: "dashboard",
    // No string ever becomes markup or script.
    policy: policy(PAGE_SOURCES, "require-trusted-types-for 'script'", "trusted-types 'none'"),
    page: (await import("../../dashboard/index.html", { with: { type: "file" } })).default,
    assets: {
      ...(await apiFiles()),
      ...(await hostFiles()),
      ...(await liveFiles()),
      ...(await overviewFiles()),
      ...(await scriptFiles()),
      ...(await pathsOf({
        "address.js": import("../../dashboard/address.js", { with: { type: "file" } }),
        "approvals.js": import("../../dashboard/host/approvals.js", { with: { type: "file" } }),
        "audit.js": import("../../dashboard/host/audit.js", { with: { type: "file" } }),
        "broadcast.js": import("../../dashboard/desk/broadcast.js", { with: { type: "file" } }),
        "changes.js": import("../../dashboard/desk/changes.js", { with: { type: "file" } }),
        "diagnostics.js": import("../../dashboard/host/diagnostics.js", { with: { type: "file" } }),
        "configuration.js": import("../../dashboard/configuration.js", { with: { type: "file" } }),
        "crop.js": import("../../dashboard/host/crop.js", { with: { type: "file" } }),
        "drafts.js": import("../../dashboard/host/drafts.js", { with: { type: "file" } }),
        "dialog.js": import("../../dashboard/dialog.js", { with: { type: "file" } }),
        "dom.js": import("../../dashboard/dom.js", { with: { type: "file" } }),
        "event-stream.js": import("../../dashboard/event-stream.js", { with: { type: "file" } }),
        "events.js": import("../../dashboard/events.js", { with: { type: "file" } }),
        "fleet.js": import("../../dashboard/desk/fleet.js", { with: { type: "file" } }),
        "fleet-panels.js": import("../../dashboard/desk/fleet-panels.js", { with: { type: "file" } }),
        "format.js": import("../../dashboard/format.js", { with: { type: "file" } }),
        "help.js": import("../../dashboard/help.js", { with: { type: "file" } }),
        "icon.svg": import("../../dashboard/icon.svg", { with: { type: "file" } }),
        "host-form.js": import("../../dashboard/desk/host-form.js", { with: { type: "file" } }),
        "join.js": import("../../dashboard/desk/join.js", { with: { type: "file" } }),
        "icons.js": import("../../dashboard/icons.js", { with: { type: "file" } }),
        "inspector.js": import("../../dashboard/host/inspector.js", { with: { type: "file" } }),
        "jobs.js": import("../../dashboard/host/jobs.js", { with: { type: "file" } }),
        "leases.js": import("../../dashboard/host/leases.js", { with: { type: "file" } }),
        "odd-first.js": import("../../dashboard/desk/odd-first.js", { with: { type: "file" } }),
        "main.js": import("../../dashboard/main.js", { with: { type: "file" } }),
        "nav-counts.js": import("../../dashboard/nav-counts.js", { with: { type: "file" } }),
        "needs.js": import("../../dashboard/desk/needs.js", { with: { type: "file" } }),
        "palette.js": import("../../dashboard/palette.js", { with: { type: "file" } }),
        "palette-places.js": import("../../dashboard/palette-places.js", { with: { type: "file" } }),
        "page-words.js": import("../../dashboard/page-words.js", { with: { type: "file" } }),
        "pages.js": import("../../dashboard/pages.js", { with: { type: "file" } }),
        "paging.js": import("../../dashboard/paging.js", { with: { type: "file" } }),
        "parts.js": import("../../dashboard/parts.js", { with: { type: "file" } }),
        "passkey.js": import("../../dashboard/passkey.js", { with: { type: "file" } }),
        "passkeys.js": import("../../dashboard/host/passkeys.js", { with: { type: "file" } }),
        "plan-form.js": import("../../dashboard/desk/plan-form.js", { with: { type: "file" } }),
        "plan-parts.js": import("../../dashboard/desk/plan-parts.js", { with: { type: "file" } }),
        "plan-review.js": import("../../dashboard/desk/plan-review.js", { with: { type: "file" } }),
        "plan.js": import("../../dashboard/desk/plan.js", { with: { type: "file" } }),
        "plans.js": import("../../dashboard/desk/plans.js", { with: { type: "file" } }),
        "plot.js": import("../../dashboard/plot.js", { with: { type: "file" } }),
        "requests.js": import("../../dashboard/requests.js", { with: { type: "file" } }),
        "run-details.js": import("../../dashboard/host/run-details.js", { with: { type: "file" } }),
        "run-state.js": import("../../dashboard/host/run-state.js", { with: { type: "file" } }),
        "runs.js": import("../../dashboard/host/runs.js", { with: { type: "file" } }),
        "screen.js": import("../../dashboard/host/screen.js", { with: { type: "file" } }),
        "desktops.js": import("../../dashboard/host/desktops.js", { with: { type: "file" } }),
        "secrets.js": import("../../dashboard/host/secrets.js", { with: { type: "file" } }),
        "server.js": import("../../dashboard/server.js", { with: { type: "file" } }),
        "style.css": import("../../dashboard/style.css", { with: { type: "file" } }),
        "sync.js": import("../../dashboard/host/sync.js", { with: { type: "file" } }),
        "table.js": import("../../dashboard/table.js", { with: { type: "file" } }),
        "traces.js": import("../../dashboard/host/traces.js", { with: { type: "file" } }),
        "upgrade-form.js": import("../../dashboard/desk/upgrade-form.js", { with: { type: "file" } }),
        "uplot.css": import("uplot/dist/uPlot.min.css", { with: { type: "file" } }),
        "uplot.js": import("uplot/dist/uPlot.esm.js", { with: { type: "file" } }),
        "usb.js": import("../../dashboard/host/usb.js", { with: { type: "file" } }),
        "view.js": import("../../dashboard/view.js", { with: { type: "file" } }),
        "viewers.js": import("../../dashboard/host/viewers.js", { with: { type: "file" } }),
        "witnessed.js": import("../../dashboard/desk/witnessed.js", { with: { type: "file" } }),
        "zip.js": import("../../dashboard/host/zip.js", { with: { type: "file" } }),
      })),
      "novnc.js": browserModule((await import("@novnc/novnc", { with: { type: "file" } })).default),
      "query.js": browserModule(
        (await import("../../dashboard/query.js", { with: { type: "file" } })).default,
      ),
    },
  });

export const createExplorer = async () =>
  createPageAssets({
    path: "docs",
    // The icons of Swagger UI are `data:`.
    policy: policy("img-src 'self' data:"),
    page: (await import("../../explorer/index.html", { with: { type: "file" } })).default,
    assets: await pathsOf({
      "explorer.js": import("../../explorer/explorer.js", { with: { type: "file" } }),
      "style.css": import("../../explorer/style.css", { with: { type: "file" } }),
      "swagger-ui-bundle.js": import("swagger-ui-dist/swagger-ui-bundle.js", { with: { type: "file" } }),
      "swagger-ui.css": import("swagger-ui-dist/swagger-ui.css", { with: { type: "file" } }),
    }),
  });
