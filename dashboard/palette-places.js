/**
 * Where the palette can go: pages, and the hosts, plans, stored scripts and commands that the server knows.
 */
import { hostAddress, planAddress } from "./address.js";
import { ApiError } from "./api-error.js";
import { pages } from "./pages.js";

/** Milliseconds for which what was asked is used again. */
const MAX_AGE = 60_000;

/** How many plans it knows, the newest; and how many characters of what each does. */
const PLANS = 200;
const PLAN_TEXT = 80;

/** Somewhere to go. @typedef {{ text: string, kind: string, href: string, icon: import("./icons.js").IconName }} Place */

/**
 * @param {string} text
 * @param {string} kind
 * @param {string} href
 * @param {import("./icons.js").IconName} shape
 * @returns {Place}
 */
const placeOf = (text, kind, href, shape) => ({ text, kind, href, icon: shape });

/** @param {string} name */
const scriptAddress = (name) => `#scripts?script=${encodeURIComponent(name)}`;

/**
 * @param {import("./api.js").Api} api
 * @param {import("./view.js").May} may false while nobody is signed in
 */
export function placesOf(api, may) {
  const toPages = () =>
    pages
      .filter(({ scope }) => may(scope))
      .map(({ name, title, icon: shape }) => placeOf(title, "page", `#${name}`, shape));

  /**
   * A list of the server; empty where it does not say.
   *
   * @template {import("./wire").GetPath} Path
   * @template Item
   * @param {Path} path
   * @param {(answer: import("./wire").Answer<Path>) => readonly Item[]} listIn
   * @returns {Promise<readonly Item[]>}
   */
  async function listAt(path, listIn) {
    try {
      return listIn((await api.get(path, { maxAge: MAX_AGE })).body);
    } catch (error) {
      if (error instanceof ApiError) return [];
      throw error;
    }
  }

  /** What anybody who reads may go to. */
  async function toRead() {
    const [hosts, scripts, commands] = await Promise.all([
      listAt("admin/fleet", (answer) => answer),
      listAt("scripts", (answer) => answer.scripts),
      listAt("commands", (answer) => answer.commands),
    ]);
    return [
      ...hosts.map(({ label }) => placeOf(label, "host", hostAddress(label), "hosts")),
      ...scripts.map(({ name }) => placeOf(name, "script", scriptAddress(name), "scripts")),
      ...commands.map((name) => placeOf(name, "command", `#scripts?command=${name}`, "scripts")),
    ];
  }

  async function toPlans() {
    const plans = await listAt(`plans?limit=${PLANS}`, (answer) => answer.plans);
    return plans.map(({ id, commands, on }) => {
      const text = `${id.slice(0, 8)} ${commands.join(", ")} on ${on}`;
      const short = text.length > PLAN_TEXT ? `${text.slice(0, PLAN_TEXT)}…` : text;
      return placeOf(short, "plan", planAddress(id), "plans");
    });
  }

  return {
    /** The pages, which are known without a request. */
    pages: toPages,
    /** All places. */
    async all() {
      const found = await Promise.all([may("read") ? toRead() : [], may("operate") ? toPlans() : []]);
      return [...toPages(), ...found.flat()];
    },
  };
}
