/**
 * `npm run docs`: writes `docs/actions.md` anew. A test fails as long as it is not what this would write.
 */
import { join } from "node:path";
import { actionReference } from "./reference";
import { ROOT } from "./targets";

await Bun.write(join(ROOT, "docs", "actions.md"), actionReference());
