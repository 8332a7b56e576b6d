import { command, print } from "../src/cli/command";
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
    const rows = bom.components.flatMap((component) => [
      rowOf(component),
      ...(component.components ?? []).map((linked) => rowOf(linked, "  ")),
    ]);
    print(flags, bom, () =>
      flags.text
        ? bom.components
            .flatMap((component) => [component, ...(component.components ?? [])])
            .map(inFull)
            .join("\n\n")
        : table(["package", "version", "licence"], rows),
    );
    return 0;
  },
});

const rowOf = (component: Component, indent = "") => [
  indent + component.name,
  component.version ?? "",
  licencesOf(component),
];

const licencesOf = ({ licenses }: Component) =>
  licenses
    .map((choice) => ("license" in choice ? (choice.license.id ?? choice.license.name) : choice.expression))
    .join(", ");

function inFull(component: Component): string {
  const { name, version = "", licenses, externalReferences = [] } = component;
  const title = `${`${name} ${version}`.trimEnd()}: ${licencesOf(component)}`;
  const sources = externalReferences.map(({ url }) => `Source: ${url}`);
  const texts = licenses.map(
    (choice) => ("license" in choice && choice.license.text?.content) || "(it brings no text)",
  );
  return [title, "=".repeat(title.length), ...sources, ...texts].join("\n");
}
