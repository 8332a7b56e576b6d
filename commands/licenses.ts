/** `svc licenses`: lists the packages in svc with their licences, and prints the texts. */
import { writeOut } from "../src/cli/output";
import { view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { type Component, listLicenses } from "../src/licenses/operations";

export default view(listLicenses, {
  ignoresDesk: true,
  extra: { text: flag("Print the licences in full") },
  columns: ["package", "version", "licence"],
  rows: ({ components }) =>
    components.flatMap((component) => [
      rowOf(component),
      ...(component.components ?? []).map((linked) => rowOf(linked, "  ")),
    ]),
  async run({ call, input, extra, globals, show }) {
    const bom = await call(input);
    if (!extra.text || globals.json) return show(bom);
    const all = bom.components.flatMap((component) => [component, ...(component.components ?? [])]);
    writeOut(`${all.map(inFull).join("\n\n")}\n`);
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
  const { name, version = "", licenses, evidence, externalReferences = [] } = component;
  const title = `${`${name} ${version}`.trimEnd()}: ${licencesOf(component)}`;
  const sources = externalReferences.map(({ url }) => `Source: ${url}`);
  const texts = [...licenses, ...(evidence?.licenses ?? [])].flatMap((choice) =>
    "license" in choice && choice.license.text ? [choice.license.text.content] : [],
  );
  return [title, "=".repeat(title.length), ...sources, ...texts].join("\n");
}
