/**
 * Which stored script the text of the page was loaded from. A link may load one: it runs nothing, and a text that somebody has changed is
 * replaced only after a question.
 */
import { keepInAddress } from "../address.js";
import { ApiError } from "../api-error.js";
import { ask } from "../dialog.js";
import { el, setText } from "../dom.js";

/** Where the tab keeps it, beside the text. */
const SOURCE_KEY = "svc-draft-of";

/** Milliseconds for which the list of stored scripts is used again. */
const MAX_AGE = 60_000;

/** A stored script, and the text that was made of it. @typedef {{ script: string, text: string }} Source */

/** @returns {Source | null} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(SOURCE_KEY) ?? "null");
  } catch {
    return null;
  }
}

/** The list that runs a stored script: what is in it, the server shows to nobody. @param {string} script */
const listFor = (script) => `[\n  ["AC_run_script", ${JSON.stringify({ path: `script:${script}` })}]\n]\n`;

/** Shows in the address which script the text was loaded from. */
const keepAddress = () => keepInAddress("scripts", { script: kept()?.script ?? "" });

/**
 * @param {import("../view.js").View} view
 * @param {{ text: HTMLTextAreaElement }} views
 * @param {string} usual the text of a tab in which nothing was written
 */
export function scriptSource({ api, signal }, { text }, usual) {
  const about = el("span", { class: "hint prose" });
  const isEmpty = () => text.value.trim() === "";
  const isChanged = () => !isEmpty() && text.value !== (kept()?.text ?? usual);

  function show() {
    const source = kept();
    const mine = isChanged() ? "your draft, kept in this tab" : "an example";
    const words = source ? `runs the stored script ${source.script}${isChanged() ? ", changed" : ""}` : mine;
    setText(about, isEmpty() ? "empty" : words);
  }

  /** The names of the stored scripts; null where the server does not say. */
  async function stored() {
    try {
      const { body } = await api.get("scripts", { maxAge: MAX_AGE });
      return body.scripts.map(({ name }) => name);
    } catch (error) {
      if (error instanceof ApiError) return null;
      throw error;
    }
  }

  show();
  return {
    /** What is loaded, in words. */
    root: about,
    /** Says anew what is loaded. */
    show,
    /**
     * Loads the list that runs a stored script.
     *
     * @param {string} script
     * @returns {Promise<boolean>} whether the text is another now
     * @throws {Error} where there is no such script
     */
    async load(script) {
      if (kept()?.script === script && !isEmpty()) {
        keepAddress();
        return false;
      }
      const names = await stored();
      if (signal.aborted) return false;
      if (names && !names.includes(script)) {
        keepAddress();
        throw new Error(`No script is stored here as ${script}.`);
      }
      const says = `The script that you have changed is lost: the list that runs the stored script ${script} takes its place. Nothing runs.`;
      const mayReplace =
        !isChanged() || (await ask("Replace your script?", "Replace", el("p", { class: "prose" }, says)));
      // Who has left the page has closed the question.
      if (signal.aborted) return false;
      if (mayReplace) {
        const list = listFor(script);
        sessionStorage.setItem(SOURCE_KEY, JSON.stringify({ script, text: list }));
        text.value = list;
        text.dispatchEvent(new Event("input"));
        show();
      }
      keepAddress();
      return mayReplace;
    },
  };
}
