/**
 * Scripts: write, check and run a script, as a list of steps and as JSON, and look up what each action takes.
 */
import { addressIn } from "../address.js";
import { el, labelled } from "../dom.js";
import { icon } from "../icons.js";
import { actionButton, asError, panel } from "../parts.js";
import { referencePanel } from "./reference.js";
import { readScript, stopChoice } from "./script.js";
import { scriptChecks } from "./script-checks.js";
import { scriptRun } from "./script-run.js";
import { scriptSource } from "./script-source.js";
import { listTextIn, stepOfPlace } from "./script-steps.js";
import { scriptViews } from "./script-views.js";
import { stepDetails } from "./step-details.js";

/** The draft goes with the tab, like the token. */
const DRAFT_KEY = "svc-draft";

const EXAMPLE = `[
  ["AC_screen_size"],
  ["AC_sleep", {"seconds": 1}]
]
`;

/** @typedef {import("./reference.js").Command} Command */

/** @param {import("../view.js").View} view */
export function open(view) {
  /** What the reference says of each command. @type {Map<string, Command>} */
  let known = new Map();
  const details = stepDetails();
  const views = scriptViews(view.signal, {
    key: DRAFT_KEY,
    usual: EXAMPLE,
    parametersOf: (command) => known.get(command)?.parameters.map(({ name }) => name) ?? [],
    chosen: (step) => details.show(step, step ? known.get(step.command) : undefined),
    changed() {
      checks.changed();
      source.show();
    },
  });
  const checks = scriptChecks(view, views);
  const source = scriptSource(view, views, EXAMPLE);
  const stop = stopChoice();
  const run = view.may("operate") ? runOf(view, views) : null;
  const made = panel("Script", {
    tools: [
      source.root,
      checks.state,
      actionButton([icon("ok"), "Check"], checks.now, checks.tell),
      run && actionButton([icon("play"), "Run here"], () => runHere(run), checks.tell, { class: "primary" }),
      run && runOnButton(view, views, checks),
    ],
  });
  made.body.append(
    views.root,
    checks.root,
    ...(run ? [labelled("When an action fails", stop.root, "Unless the script itself says otherwise.")] : []),
  );

  /** @param {ReturnType<typeof runOf>} there */
  async function runHere(there) {
    const text = views.text.value;
    const said = await checks.before();
    await there.start(text, { stop_on_error: stop.value(), ...said });
  }

  /** @param {readonly unknown[]} action */
  async function insert(action) {
    try {
      // Where it is no script, the server says why.
      await readScript(view.api, views.text.value);
      if (views.add(action)) checks.note(`${String(action[0])} was added to the end of the script.`);
    } catch (error) {
      checks.tell(asError(error));
    }
  }

  const reference = referencePanel(view, insert, (commands) => {
    known = new Map(commands.map((command) => [command.command, command]));
    views.look();
  });
  view.root.append(
    made.root,
    ...(run ? [run.root] : []),
    el("div", { class: "beside" }, details.root, reference),
  );
  const script = addressIn(location.hash).query.get("script");
  if (script !== null) void load(script);

  /** Loads the stored script that the address names; nothing of it runs. @param {string} name */
  async function load(name) {
    try {
      if (await source.load(name))
        checks.note(`The stored script ${name} is loaded: this list runs it. Nothing has run.`);
    } catch (error) {
      checks.tell(asError(error));
    }
  }
}

/**
 * The panel of runs, which marks the steps of the text that has run.
 *
 * @param {import("../view.js").View} view
 * @param {ReturnType<typeof scriptViews>} views
 */
function runOf(view, views) {
  /** The text that has run: the places in it are those of no other. */
  let ran = "";
  const isSame = () => views.text.value === ran;
  const made = scriptRun(view, {
    numberOf: (place) => (isSame() ? (views.steps()[stepOfPlace(views.steps(), place)]?.number ?? "") : ""),
    looked(place) {
      if (isSame()) views.choose(stepOfPlace(views.steps(), place));
    },
    ended(marks) {
      if (!isSame()) return;
      /** @type {Map<number, import("./step-list.js").Mark>} */
      const found = new Map();
      for (const [at, { place }] of views.steps().entries()) {
        const mark = marks.get(place);
        if (mark) found.set(at, mark);
      }
      views.mark(found);
    },
  });
  return {
    root: made.root,
    /** @param {string} text @param {Record<string, unknown>} options */
    start(text, options) {
      ran = text;
      return made.start(text, options);
    },
  };
}

/**
 * A button that makes a plan of the script, where there are hosts.
 *
 * @param {import("../view.js").View} view
 * @param {ReturnType<typeof scriptViews>} views
 * @param {ReturnType<typeof scriptChecks>} checks
 */
function runOnButton({ api, poll, signal }, views, checks) {
  const made = actionButton("Run on…", plan, checks.tell);
  made.hidden = true;
  poll({
    path: "admin/hosts",
    on: ["host.added", "host.removed"],
    every: 300,
    // Whether there are some is all that is looked at: thousands may join.
    apply: (hosts, { type }) => (type === "host.added" && hosts.length > 0 ? hosts : null),
    show(hosts) {
      made.hidden = hosts.length === 0;
    },
  });

  async function plan() {
    const text = views.text.value;
    const { says } = await readScript(api, text);
    // What this host may not run, others may: a plain list is checked for them.
    const { needs, pace, ...said } = says ? await checks.before() : {};
    const odd = needs ? "needs" : pace === undefined ? undefined : "pace";
    if (odd !== undefined)
      throw new Error(`What the script says of its ${odd} cannot be sent to hosts: leave it out.`);
    const { makePlan } = await import("../desk/plan-form.js");
    // The question is for the page where it was asked.
    if (signal.aborted) return;
    await makePlan(api, null, { list: listTextIn(text) ?? "[]", says: said });
  }
  return made;
}
