/**
 * The pages of the dashboard, in the order of the navigation. A new one is one module and one line here.
 */
import { overview } from "./overview.js";

/** @type {readonly [import("./view.js").Page, ...import("./view.js").Page[]]} */
export const pages = [overview];
