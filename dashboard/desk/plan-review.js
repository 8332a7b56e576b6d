/**
 * All that a plan will do, shown before it is applied.
 */
import { fill } from "../dialog.js";
import { el } from "../dom.js";
import { count, counted } from "../format.js";
import { badge } from "../parts.js";
import { signed } from "../passkey.js";
import { reviewOf } from "./plan-parts.js";

/** Hosts of a plan that are listed at once. */
export const LISTED = 200;

/**
 * A path of one plan.
 *
 * @template {string} Rest
 * @param {string} id
 * @param {Rest} rest
 */
export const pathOf = (id, rest) => /** @type {`plans/{id}${Rest}`} */ (`plans/${id}${rest}`);

/** Hosts that are named as left out; the others are counted. */
const LEFT_OUT_NAMED = 20;

/** The hosts that are no part of a plan, and why. @param {ReadonlyArray<{ label: string, why: string }>} hosts */
export const leftOutOf = (hosts) => [
  ...hosts
    .slice(0, LEFT_OUT_NAMED)
    .map(({ label, why }) =>
      el("p", { class: "prose" }, badge("none", `${label} is left out`), why === "" ? "" : ` ${why}`),
    ),
  hosts.length > LEFT_OUT_NAMED && el("p", {}, `${count(hosts.length - LEFT_OUT_NAMED)} more are left out.`),
];

/**
 * Shows all that a plan will do, and applies it if that is wanted.
 *
 * @param {import("../api.js").Api} api
 * @param {{
 *   id: string,
 *   digest: string,
 *   refusing?: ReadonlyArray<{ label: string, why: string }>,
 *   left_out?: ReadonlyArray<{ label: string, why: string }>,
 * }} made `refusing`: the hosts that will refuse it as they are now; `left_out`: those that are no part of it.
 */
export async function askToApply(api, { id, digest, refusing = [], left_out = [] }) {
  const { body: plan } = await api.get(pathOf(id, /** @type {""} */ (`?limit=${LISTED}`)), { maxAge: 0 });
  const { commands, waves, total, targets } = plan;
  const hosts = targets.map(({ label }) => label);
  return fill(
    `Run this plan on ${counted(total, "host")}?`,
    "Apply",
    () => signed((headers) => api.post(pathOf(id, "/apply"), { digest }, { headers })),
    el(
      "p",
      { class: "prose" },
      hosts.join(", "),
      total > hosts.length ? ` and ${count(total - hosts.length)} more` : "",
    ),
    el("p", {}, `Waves: ${waves.map((end) => count(end)).join(", ")}`),
    el("p", {}, "Commands: ", el("code", {}, commands.join(", "))),
    ...refusing.map(({ label, why }) =>
      el("p", { class: "prose" }, badge("warn", `${label} will refuse it`), ` ${why}`),
    ),
    ...leftOutOf(left_out),
    ...reviewOf(plan),
    el("p", { class: "hint" }, "Digest ", el("code", {}, digest)),
  );
}
