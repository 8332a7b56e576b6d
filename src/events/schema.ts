/** The schemas of events, for the API document and the reference. */

import type { EventType } from "../core/events";
import { jsonSchema } from "../core/json-schema";
import { MAX_BYTES } from "./data";

type JsonObject = Record<string, unknown>;

/** The data of an event as it is sent, as JSON Schema. */
export function dataSchema({ data, summary }: EventType): JsonObject {
  const {
    properties = {},
    required = [],
    ...schema
  } = jsonSchema(data, "output") as {
    properties?: JsonObject;
    required?: string[];
  };
  return {
    ...schema,
    description: `${summary}. One line of at most ${MAX_BYTES} bytes`,
    properties: {
      at: { type: "string", description: "When it happened: ISO 8601 in UTC, in milliseconds" },
      truncated: { const: true, description: "Set where strings, lists or fields were cut to fit" },
      ...properties,
    },
    required: ["at", ...required],
  };
}

/** The schema of the data of each type, by its name. */
export const schemasOf = (types: readonly EventType[]): Record<string, JsonObject> =>
  Object.fromEntries(types.map((type) => [type.name, dataSchema(type)]));
