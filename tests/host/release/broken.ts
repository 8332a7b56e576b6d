/** The entrypoint of a release that says its version and which folders it can read, and whose server ends at once. */
import { FORMAT } from "../../../src/lib/format";
import { target, version } from "../../../src/version";

const [noun] = process.argv.slice(2);
if (noun === "version") console.log(JSON.stringify({ version, target, format: FORMAT }));
else process.exit(noun === "serve" ? 70 : 0);
