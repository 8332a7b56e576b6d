/**
 * The messages of Wayland's protocols that svc speaks, from the XML texts in `protocols`: `src/host/desktop/wayland/protocol.ts`.
 *
 * The texts are those of Debian's packages, word for word, each with its licence: libwayland-dev 1.21.0, wayland-protocols 1.31
 * and the sources of wlroots 0.15.1; but for ext-image-copy-capture-v1.xml, which says where it is from.
 */
import { join } from "node:path";
import { DOMParser, type Element } from "@xmldom/xmldom";
import { ROOT } from "../targets";

/** Where the table is. */
export const TABLE = join(ROOT, "src", "host", "desktop", "wayland", "protocol.ts");

/** The interfaces that svc uses, by the file that describes them. */
const USED: Readonly<Record<string, readonly string[]>> = {
  "wayland.xml": [
    ...["wl_display", "wl_registry", "wl_callback", "wl_shm", "wl_shm_pool", "wl_buffer", "wl_output"],
    ...["wl_seat", "wl_pointer", "wl_keyboard", "wl_compositor", "wl_surface", "wl_region"],
  ],
  "xdg-output-unstable-v1.xml": ["zxdg_output_manager_v1", "zxdg_output_v1"],
  "wlr-screencopy-unstable-v1.xml": ["zwlr_screencopy_manager_v1", "zwlr_screencopy_frame_v1"],
  "ext-image-copy-capture-v1.xml": [
    ...["ext_image_capture_source_v1", "ext_output_image_capture_source_manager_v1"],
    ...["ext_image_copy_capture_manager_v1", "ext_image_copy_capture_session_v1"],
    "ext_image_copy_capture_frame_v1",
  ],
  "wlr-virtual-pointer-unstable-v1.xml": ["zwlr_virtual_pointer_manager_v1", "zwlr_virtual_pointer_v1"],
  "virtual-keyboard-unstable-v1.xml": ["zwp_virtual_keyboard_manager_v1", "zwp_virtual_keyboard_v1"],
  "wlr-data-control-unstable-v1.xml": [
    ...["zwlr_data_control_manager_v1", "zwlr_data_control_device_v1"],
    ...["zwlr_data_control_source_v1", "zwlr_data_control_offer_v1"],
  ],
  "wlr-foreign-toplevel-management-unstable-v1.xml": [
    ...["zwlr_foreign_toplevel_manager_v1", "zwlr_foreign_toplevel_handle_v1"],
  ],
  "idle-inhibit-unstable-v1.xml": ["zwp_idle_inhibit_manager_v1", "zwp_idle_inhibitor_v1"],
  "wlr-layer-shell-unstable-v1.xml": ["zwlr_layer_shell_v1", "zwlr_layer_surface_v1"],
};

const HEAD = `/**
 * The messages of Wayland's protocols that svc speaks, in the order of their numbers: the name, then its arguments. \`build/wayland/table.ts\` writes it
 * from the texts of the protocols beside it (\`bun build/wayland/table.ts\`).
 */
// biome-ignore-all format: one message a line

`;

/** The text of the table. */
export async function protocolTable(): Promise<string> {
  const parts: string[] = [];
  for (const [file, interfaces] of Object.entries(USED)) {
    const text = await Bun.file(join(import.meta.dir, "protocols", file)).text();
    const found = elements(new DOMParser().parseFromString(text, "text/xml").documentElement, "interface");
    for (const name of interfaces) {
      const described = found.find((one) => one.getAttribute("name") === name);
      if (!described) throw new Error(`${file} describes no ${name}`);
      parts.push(interfaceText(described));
    }
  }
  return `${HEAD}export const PROTOCOL = {\n${parts.join("\n")}\n} as const;\n`;
}

function interfaceText(described: Element): string {
  const messages = (kind: string) =>
    elements(described, kind).map((one) => `      ${JSON.stringify(messageOf(one))},\n`);
  const list = (kind: string) => {
    const lines = messages(kind);
    return lines.length === 0 ? "[]" : `[\n${lines.join("")}    ]`;
  };
  const { name = "", version = "" } = attributes(described);
  return [
    `  ${name}: {`,
    `    version: ${version},`,
    `    requests: ${list("request")},`,
    `    events: ${list("event")},`,
    "  },",
  ].join("\n");
}

const messageOf = (message: Element) => [
  attributes(message).name ?? "",
  ...elements(message, "arg").flatMap(argumentsOf),
];

/** A new object whose interface the sender chooses is sent with its name and version (Wayland protocol, wire format). */
function argumentsOf(argument: Element): string[] {
  const { type = "", interface: of } = attributes(argument);
  if (type !== "new_id") return [type];
  return of === undefined ? ["string", "uint", "new_id"] : [`new_id ${of}`];
}

const attributes = (element: Element): Readonly<Partial<Record<string, string>>> =>
  Object.fromEntries(Array.from(element.attributes, ({ name, value }) => [name, value]));

const elements = (parent: Element | null, name: string): Element[] =>
  Array.from(parent?.getElementsByTagName(name) ?? []);

if (import.meta.main) await Bun.write(TABLE, await protocolTable());
