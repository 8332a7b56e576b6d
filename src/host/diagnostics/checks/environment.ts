/** `environment`: no variable makes the runtime inside svc run other code. */
import { runtimeVariables } from "../../../lib/spawn";
import { check, type Finding, fine, warning } from "../check";

export const environment = check({
  name: "environment",
  summary:
    "No variable of the environment changes the runtime inside svc (`BUN_…`, `NODE_OPTIONS`; else a warning)",
  advice: [],
  run: () => judgeEnvironment(process.env),
});

/** @param env of this process. The finding has names of variables, no values. */
function judgeEnvironment(env: NodeJS.ProcessEnv): Finding {
  const variables = runtimeVariables(env);
  if (variables.length === 0) return fine("no variable changes the runtime", { variables });
  return warning(
    `${variables.join(", ")}: the runtime inside svc obeys such variables, and may run other code with all that svc may do`,
    ["find out who set them, and start svc without them"],
    { variables },
  );
}
