/**
 * `npm run docs`: writes what is generated of `docs` anew. Tests fail as long as it is not what this would write.
 */
import { join } from "node:path";
import { withChecks } from "./checks";
import { withEvents } from "./events";
import { grafanaDashboard } from "./grafana/dashboard";
import { metricReference } from "./metrics";
import { actionReference } from "./reference";
import { ROOT } from "./targets";
import { withoutCommand } from "./without-command";

const docs = join(ROOT, "docs");
await Bun.write(join(docs, "actions.md"), await actionReference());
await Bun.write(join(docs, "metrics.md"), await metricReference());
await Bun.write(join(docs, "grafana", "svc.json"), grafanaDashboard());
const diagnostics = join(docs, "diagnostics.md");
await Bun.write(diagnostics, withChecks(await Bun.file(diagnostics).text()));
const readme = join(docs, "README.md");
await Bun.write(readme, withoutCommand(await Bun.file(readme).text()));
const events = join(docs, "events.md");
await Bun.write(events, withEvents(await Bun.file(events).text()));
