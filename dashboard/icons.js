/**
 * The icons of the dashboard: strokes on a grid of 24, in the colour of the text.
 */
import { svg } from "./dom.js";

/** Path data by name. */
const PATHS = {
  overview: "M4 4h7v7H4zM13 4h7v4h-7zM13 10h7v10h-7zM4 13h7v7H4z",
  server: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  hosts: "M12 4v5M5 20v-4h14v4M12 9v7M3 20h4M10 20h4M17 20h4M9 4h6v5H9z",
  plans: "M4 5h4v4H4zM10 10h4v4h-4zM16 15h4v4h-4zM8 7h4v3M14 12h4v3",
  approvals: "M12 3l8 3v6c0 4.500-3.500 8-8 9-4.500-1-8-4.500-8-9V6zM8.500 12l2.500 2.500 4.500-5",
  desktops: "M3 4h12v9H3zM9 13v3M6 16h6M18 8h3v12H9v-2",
  secrets: "M3.500 12a4 4 0 1 1 8 0 4 4 0 0 1-8 0M11.500 12H21v4M17 12v3",
  audit: "M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h7",
  inspector: "M3 12h4l3-8 4 16 3-8h4",
  usb: "M12 21V5M12 5l-2.500 3h5zM12 17l-5-3v-3M12 14l5-3V8M7 11h.01M15.500 5.500h3v3h-3zM12 21h.01",
  diagnostics: "M4 12a8 8 0 1 1 16 0 8 8 0 0 1-16 0M8.500 12l2.500 2.500 4.500-5",
  scripts: "M5 7l5 5-5 5M13 17h6",
  jobs: "M4 12a8 8 0 1 1 16 0 8 8 0 0 1-16 0M12 7.500V12l3 2",
  screen: "M3 5h18v11H3zM9 20h6M12 16v4",
  live: "M3 5h18v11H3zM9 20h6M12 16v4M10.500 8l4 2.500-4 2.500z",
  sync: "M20 11a8 8 0 0 0-14.500-4.500L3 9M3 4v5h5M4 13a8 8 0 0 0 14.500 4.500L21 15M21 20v-5h-5",
  api: "M8 6l-5 6 5 6M16 6l5 6-5 6",
  signOut: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  help: "M4 12a8 8 0 1 1 16 0 8 8 0 0 1-16 0M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.700.300-1 .800-1 1.700M12 16.500h.01",
  menu: "M4 7h16M4 12h16M4 17h16",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  refresh: "M20 11a8 8 0 1 0-2 6M20 4v7h-7",
  ok: "M5 12.500l4.500 4.500L19 7",
  warn: "M12 4l9 16H3zM12 10v4M12 17h.01",
  error: "M4 12a8 8 0 1 1 16 0 8 8 0 0 1-16 0M9 9l6 6M15 9l-6 6",
  info: "M4 12a8 8 0 1 1 16 0 8 8 0 0 1-16 0M12 11v5M12 8h.01",
  search: "M4 10.500a6.500 6.500 0 1 1 13 0 6.500 6.500 0 0 1-13 0M15.500 15.500L21 21",
  add: "M12 5v14M5 12h14",
  remove: "M6 7h12M9 7V4h6v3M8 7l1 13h6l1-13",
  play: "M7 5l12 7-12 7z",
  pause: "M8 5v14M16 5v14",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * An icon, hidden from screen readers: the text next to it says the same.
 *
 * @param {IconName} name
 */
export function icon(name) {
  const path = svg("path", { d: PATHS[name] });
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, path);
}
