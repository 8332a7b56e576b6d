/** The entrypoint of a release that says its version, and whose server ends at once. */
import { target, version } from "../../src/version";

const [noun] = process.argv.slice(2);
if (noun === "version") console.log(JSON.stringify({ version, target }));
else process.exit(noun === "serve" ? 70 : 0);
