/** Compiles `dist/svc` for this machine. */
import { $ } from "bun";
import { version } from "./package.json";

const commit = (await $`git rev-parse --short HEAD`.text()).trim();
await Bun.build({
  entrypoints: ["./src/main.ts"],
  compile: { outfile: "dist/svc" },
  minify: true,
  bytecode: true,
  format: "esm",
  splitting: true,
  sourcemap: "external",
  define: { SVC_VERSION: JSON.stringify(version), SVC_COMMIT: JSON.stringify(commit) },
});
