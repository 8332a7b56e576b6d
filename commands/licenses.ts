import { command, print } from "../src/cli";
import { table } from "../src/lib/table";
import { type Component, embeddedBom } from "../src/licenses/bom";

export default command({
  builder: (argv) =>
    argv
      .option("text", { type: "boolean", default: false, describe: "Print the licences in full" })
      .example("$0 licenses", "What is embedded in svc, and under which licences")
      .example("$0 licenses --json > svc.cdx.json", "The same as a CycloneDX document"),
  async handler(flags) {
    const bom = embeddedBom();
    const rows = bom.components.map((component) => [
      component.name,
      component.version,
      licencesOf(component).join(", "),
    ]);
    print(flags, bom, () =>
      flags.text ? bom.components.map(inFull).join("\n\n") : table(["package", "version", "licence"], rows),
    );
    return 0;
  },
});

const licencesOf = ({ licenses }: Component) =>
  licenses.map(({ license }) => license.id ?? license.name ?? "");

function inFull(component: Component): string {
  const title = `${component.name} ${component.version}: ${licencesOf(component).join(", ")}`;
  const texts = component.licenses.map(
    ({ license }) => license.text?.content ?? "(the package brings no text)",
  );
  return [title, "=".repeat(title.length), ...texts].join("\n");
}
