import * as v from "valibot";
import { print, subcommand } from "../src/cli/subcommand";
import { field } from "../src/core/fields";
import { table } from "../src/lib/table";
import { type Component, embeddedBom } from "../src/licenses/bom";

export default subcommand({
  describe: "List embedded packages and their licences",
  input: v.strictObject({ text: field(v.optional(v.boolean(), false), "Print the licences in full") }),
  async run({ text }, globals) {
    const bom = embeddedBom();
    const rows = bom.components.flatMap((component) => [
      rowOf(component),
      ...(component.components ?? []).map((linked) => rowOf(linked, "  ")),
    ]);
    const inFullAll = () =>
      bom.components
        .flatMap((component) => [component, ...(component.components ?? [])])
        .map(inFull)
        .join("\n\n");
    print(globals, bom, () => (text ? inFullAll() : table(["package", "version", "licence"], rows)));
    return 0;
  },
  examples: [
    ["$0 licenses", "The packages in svc, and their licences"],
    ["$0 licenses --json > svc.cdx.json", "The same as a CycloneDX document"],
  ],
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
