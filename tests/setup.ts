/** Before any test: a slow machine is no reason to fail; what must be quick is measured by the test itself. */
import { setDefaultTimeout } from "bun:test";

setDefaultTimeout(30_000);
