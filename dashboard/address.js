/**
 * What the address of a page names: `#hosts/lab-07/jobs`, `#hosts?q=tag:lab`, `#live:lab-07`. A token is never part of it.
 */

/** Pages that had another name, so that old addresses lead on. @type {Record<string, string>} */
const FORMER = { admin: "hosts", actions: "scripts" };

/**
 * The parts of an address.
 *
 * @param {string} hash with its `#`
 * @returns {{ page: string, path: string[], query: URLSearchParams }} the name of the page, what is shown of it, and how
 */
export function addressIn(hash) {
  const at = hash.indexOf("?");
  const whole = (at === -1 ? hash : hash.slice(0, at)).replace(/^#\/?/, "");
  const [first = "", ...path] = whole.split("/");
  const [name = ""] = first.split(":");
  const query = new URLSearchParams(at === -1 ? "" : hash.slice(at + 1));
  return { page: FORMER[name] ?? name, path: path.map(decoded), query };
}

/** A part of an address as it was before it was encoded; what was not stays as it is. @param {string} text */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The page of a host, at the part of it that is named.
 *
 * @param {string} label
 * @param {string} [part]
 */
export const hostAddress = (label, part = "") =>
  `#hosts/${encodeURIComponent(label)}${part === "" ? "" : `/${part}`}`;

/**
 * The page of a plan, and of its hosts those in a state.
 *
 * @param {string} id
 * @param {string} [state]
 */
export const planAddress = (id, state = "") =>
  `#plans/${encodeURIComponent(id)}${state === "" ? "" : `?state=${state}`}`;

/**
 * What was on the screen of a host before a run failed.
 *
 * @param {string | null} label null for this host
 * @param {{ from: string, to: string }} kept times in ISO 8601
 */
export function keptAddress(label, { from, to }) {
  const where = label === null ? "#live" : `#live:${encodeURIComponent(label)}`;
  return `${where}?from=${Date.parse(from)}&to=${Date.parse(to)}`;
}

/**
 * Keeps in the address what the page shows, so that it can be sent to somebody; no step back leads to what it showed before.
 *
 * @param {string} page
 * @param {Record<string, string>} shown those that are empty are left out
 */
export function keepInAddress(page, shown) {
  const parts = Object.entries(shown).filter(([, value]) => value !== "");
  const query = parts.map(([name, value]) => `${name}=${readable(value)}`).join("&");
  const next = `#${page}${query === "" ? "" : `?${query}`}`;
  if (location.hash !== next) history.replaceState(null, "", next);
}

/** What a fragment needs no code for stays as people write it. @param {string} value */
const readable = (value) =>
  encodeURIComponent(value).replaceAll(/%(?:3A|2C|21|2A|2F)/g, (code) => decodeURIComponent(code));
