/** `svc scripts`: stores scripts under a name and runs them; shows, stores and drops the drafts that wait for a person. */
import type * as v from "valibot";
import { draftText, showDraft, storedText } from "../src/cli/draft";
import { reportOfRun } from "../src/cli/report/of-run";
import { SCRIPT, withActions } from "../src/cli/script";
import {
  DESKTOP_FIELDS,
  outcomeLine,
  runProblems,
  TRACE_FIELD,
  traced,
  VARIABLE_FIELDS,
  withDesktop,
  withVariables,
} from "../src/cli/script-run";
import type { Group } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { withDefaults } from "../src/core/script-head";
import { dropDraft, listDrafts, mendScript, storeDraft } from "../src/host/agents/operations";
import { addScript, listScripts, removeScript, runScript } from "../src/host/runs/operations/scripts";
import { printable } from "../src/lib/sanitize";
import { Requester } from "../src/lib/slots";
import { PERMISSION_FIELDS } from "../src/service/service";

const columns = ["NAME", "PARAMETERS", "ADDED", "SHA-256"];

const row = ({ name, parameters, added, sha256 }: v.InferOutput<typeof addScript.output>) => [
  name,
  parameters.join(", "),
  added,
  // A table cuts off what is longer; --json has all of it.
  sha256.slice(0, 16),
];

export default {
  verbs: {
    drafts: view(listDrafts, {
      columns: ["DRAFT", "NAME", "BY", "MADE OF", "MADE"],
      rows: ({ drafts }) =>
        drafts.map(({ draft, name, token, source, made }) => [
          ...[draft, name, token ?? "the owner", printable(source, 200), made],
        ]),
      text: ({ drafts }) => drafts.map(draftText).join("\n\n") || "no scripts wait for a person",
      examples: [["$0 scripts drafts", "Each as what differs from the stored script"]],
    }),
    store: view(storeDraft, {
      positionals: ["draft"],
      text: ({ name, parameters }) => storedText(name, parameters),
      examples: [["$0 scripts store 9f1c2e4a", "As `svc scripts drafts` shows it"]],
    }),
    drop: view(dropDraft, {
      positionals: ["draft"],
      text: ({ dropped }) => `the draft of ${dropped} is forgotten`,
      examples: [["$0 scripts drop 9f1c2e4a", "It is not stored"]],
    }),
    mend: view(mendScript, {
      positionals: ["name", "element", "by"],
      extra: { yes: flag("Store it without a question") },
      run: async ({ service, globals, input, extra, call }) =>
        showDraft(service, globals, await call(input), extra.yes, (made) =>
          answerHere(service, storeDraft, made),
        ),
      examples: [
        [`$0 scripts mend order 'button "Save"' 'button "Store"'`, "As `svc runs mend` says what is there"],
      ],
    }),
    add: view(addScript, {
      hidden: ["actions"],
      names: { parameters: "parameter" },
      extra: { file: SCRIPT },
      positionals: ["name", "file"],
      // Checked here, where the places in the file are known.
      complete: (input, { file }, service) =>
        withActions(file, async (actions, defaults) => {
          const executor = service.elsewhere ? undefined : await service.executor();
          await executor?.link(
            await executor.check(actions),
            `script:${input.name}`,
            new Requester(null),
            true,
            false,
          );
          const { needs = [], ...others } = defaults;
          const parameters = [...new Set([...(input.parameters ?? []), ...needs])];
          return { ...withDefaults(others, input), parameters, actions };
        }),
      columns,
      rows: (script) => [row(script)],
      examples: [
        ["$0 scripts add nightly nightly.json", "Store it; `--scope run:nightly` lets a token run it"],
        ["$0 scripts add order order.json --parameter customer", "Who runs it sets ${customer}"],
      ],
    }),
    list: view(listScripts, {
      columns,
      rows: ({ scripts }) => scripts.map(row),
      none: "no stored scripts",
      examples: [["$0 scripts list", "Names and digests"]],
    }),
    remove: view(removeScript, {
      positionals: ["name"],
      text: ({ removed, jobs, tokens }) => {
        const disabled = jobs > 0 ? `; jobs that it had added are disabled: ${jobs}` : "";
        const named = tokens.length > 0 ? `; tokens still name it: ${tokens.join(", ")}` : "";
        return `${removed} removed${disabled}${named}`;
      },
      examples: [["$0 scripts remove nightly", "Nobody runs it from now on"]],
    }),
    run: view(runScript, {
      cancellable: true,
      pages: true,
      kind: "script",
      positionals: ["name"],
      hidden: ["trace", "desktop"],
      here: ["trace"],
      extra: { ...TRACE_FIELD, ...VARIABLE_FIELDS, ...DESKTOP_FIELDS, ...PERMISSION_FIELDS },
      service: ({ allow_shell, allow_audit_clear }) => ({ allow_shell, allow_audit_clear }),
      complete: (input, extra) => withDesktop(withVariables(input, extra), extra),
      report: (body, { name }, { trace }) =>
        reportOfRun(body, name, { attachments: trace === undefined ? [] : [trace] }),
      run: async ({ service, input, extra, call, show, pages }) =>
        show(await traced(service, { file: extra.trace, pages }, (trace) => call({ ...input, trace }))),
      text: ({ outcomes }) => outcomes.map(outcomeLine).join("\n"),
      good: ({ ok }) => ok,
      problems: runProblems,
      examples: [
        ["$0 scripts run order --var customer=ACME", "Run it here, as its owner"],
        ["$0 scripts run order --trace run.zip", "See each step of it with `svc trace show run.zip`"],
      ],
    }),
  },
} satisfies Group;
