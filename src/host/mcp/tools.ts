/**
 * Operations as tools: name, title, description, input schema, hints.
 */
import { jsonSchema } from "../../core/json-schema";
import { isAskable, isReadOnly, type Operation } from "../../core/operation";
import { hasPlaces } from "./places";
import { CONFIRM, isOfDesktop, LEASE_TOOLS, toolName } from "./toolsets";

/** A tool as `tools/list` has it. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly openWorldHint: boolean;
  };
}

/** The longest side of a picture, in pixels: the models scale larger ones down themselves, and pay for the bytes. */
export const SIDE = { least: 64, usual: 1_568, most: 4_096 } as const;

/** What a tool takes besides the input of its operation. */
interface Extras {
  /** Which hosts to ask, in place of this one. */
  readonly on?: string;
  /** The longest side of a picture. */
  readonly max_side?: number;
  /** The picture in which its places are. */
  readonly picture?: string;
  /** Whether the answer is to have a picture of the screen. */
  readonly look?: boolean;
}

const ON = { type: "string", maxLength: 1_000, description: "Ask these hosts instead: LABEL, tag:TAG, all" };

const MAX_SIDE = {
  type: "integer",
  minimum: SIDE.least,
  maximum: SIDE.most,
  default: SIDE.usual,
  description: "Longest side of the picture, in pixels; a larger screen is scaled down",
};

const PICTURE = {
  type: "string",
  description: "Places are in this picture, as told beside it: 640x400 of 0,0,1280,800",
};

const LOOK = { type: "boolean", default: false, description: "Add a picture of the screen (within a lease)" };

const SCHEMAS = { on: ON, max_side: MAX_SIDE, picture: PICTURE, look: LOOK };

/** Whether a call of it is only proposed, and `confirm` does it. */
export const isProposed = ({ name, changes, uses }: Operation): boolean =>
  !LEASE_TOOLS.has(name) && (changes !== undefined || uses !== undefined);

/** Whether the answer is a picture. */
export const isPicture = ({ name }: Operation): boolean => name === "desktop.screenshot";

/** Whether it has the field `on`: for what only reads, and ends. */
const takesHosts = (operation: Operation): boolean =>
  isAskable(operation) && isReadOnly(operation) && operation.scope !== "any" && !operation.http?.stream;

/** The extra fields that this tool takes. */
export const extrasOf = (operation: Operation, hasHosts: boolean): ReadonlyArray<keyof Extras> => [
  ...(isPicture(operation) ? (["max_side"] as const) : []),
  ...(hasPlaces(operation) ? (["picture"] as const) : []),
  ...(operation.name === "desktop.act" ? (["look"] as const) : []),
  ...(hasHosts && takesHosts(operation) ? (["on"] as const) : []),
];

/** @param hasHosts whether the hosts of an address book can be asked too. */
export function listed(operation: Operation, hasHosts: boolean): ListedTool {
  const { name, summary, input } = operation;
  const schema = compact(jsonSchema(input, "input")) as { properties?: Record<string, unknown> };
  // An agent has `picture`, and the list is to be short.
  const { relative_to: _, ...others } = schema.properties ?? {};
  const properties = LEASE_TOOLS.has(name) ? withoutClient(others) : others;
  const extras = Object.fromEntries(extrasOf(operation, hasHosts).map((extra) => [extra, SCHEMAS[extra]]));
  const isWrite = isProposed(operation);
  return {
    name: toolName(name),
    title: name.replaceAll(/[._]/g, " "),
    description: isWrite ? `${summary}. ${proposes(name)}` : summary,
    inputSchema: { ...schema, type: "object", properties: { ...properties, ...extras } },
    annotations: {
      readOnlyHint: isReadOnly(operation),
      ...(isWrite && { destructiveHint: true }),
      openWorldHint: false,
    },
  };
}

/** What is not for the model: svc says it. */
const withoutClient = ({ agent: _, holder: __, ...properties }: Readonly<Record<string, unknown>>) =>
  properties;

const proposes = (name: string): string =>
  isOfDesktop(name)
    ? `Within a lease it is done at once; else proposed, and \`${CONFIRM}\` does it`
    : `Proposes only: \`${CONFIRM}\` does it`;

/** The second step of every change. */
export const CONFIRM_TOOL: ListedTool = {
  name: CONFIRM,
  title: "confirm",
  description: "Do what another tool has proposed, by the digest of its answer",
  inputSchema: {
    type: "object",
    properties: { digest: { type: "string", pattern: "^[0-9a-f]{64}$", description: "The digest" } },
    required: ["digest"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

/** What a model has no use for, and every list of tools would carry. */
function compact(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(compact);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(alike(schema)).filter(
    ([key, value]) =>
      !key.startsWith("x-svc-") &&
      key !== "writeOnly" &&
      !(key === "required" && Array.isArray(value) && value.length === 0) &&
      !(typeof value === "number" && Math.abs(value) >= Number.MAX_SAFE_INTEGER),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, compact(value)]));
}

/** A list of so many items of one form says the form once. */
function alike(schema: object): object {
  const { prefixItems, items, ...others } = schema as Readonly<Record<string, unknown>>;
  if (items !== false || !Array.isArray(prefixItems)) return schema;
  const [first, ...rest] = prefixItems.map((item) => JSON.stringify(item));
  if (rest.some((item) => item !== first)) return schema;
  return { ...others, items: prefixItems[0], minItems: prefixItems.length, maxItems: prefixItems.length };
}
