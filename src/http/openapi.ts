/**
 * The API document: OpenAPI 3.1, a function of the table and the server's URL.
 */
import { jsonSchema } from "../core/json-schema";
import { type HttpRoute, type Operation, takesText } from "../core/operation";
import { version } from "../version";
import { takesIdempotencyKey } from "./repeats";

type JsonObject = Record<string, unknown>;

type EventSchemas = Readonly<Record<string, JsonObject>>;

/**
 * @param serverUrl where the API answers; `/` is the server that the document came from.
 * @param events the events of what stays open.
 */
export function openApiDocument(
  operations: readonly Operation[],
  serverUrl: string,
  events: EventSchemas = {},
): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    if (!operation.http) continue;
    const { path, method } = operation.http;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, operation.http, events) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "svc",
      version,
      summary: "Operate a desktop-automation host remotely",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: serverUrl.replace(/(?!^)\/+$/, "") }],
    security: [{ BearerAuth: [] }],
    tags: tagsOf(operations),
    paths,
    components: {
      securitySchemes: {
        BearerAuth: { type: "http", scheme: "bearer" },
        BasicAuth: { type: "http", scheme: "basic", description: "The token is the password" },
      },
      schemas: {
        Error: {
          type: "object",
          properties: {
            error: { type: "string", description: "The error, for a person to read" },
            help: { type: "string", description: "Where the documentation says more: T42 is `svc help T42`" },
          },
          required: ["error"],
        },
        ...Object.fromEntries(Object.entries(events).map(([type, schema]) => [`event.${type}`, schema])),
      },
      responses: {
        BadInput: failure("A field is missing, unknown, ill-typed or out of range"),
        Unauthorized: failure("No token, or a wrong token", {
          "WWW-Authenticate": { schema: { type: "string" }, description: "`Bearer`" },
        }),
        Forbidden: failure("The token does not allow this, or svc was started without the flag for it"),
        OtherRequest: failure("The Idempotency-Key was used for another request"),
        TooManyRequests: failure("Rate limited, or locked out after too many wrong tokens", {
          "Retry-After": { schema: { type: "integer" }, description: "Seconds to wait" },
        }),
        Failure: failure("Any other failure"),
      },
    },
  };
}

function describe(operation: Operation, http: HttpRoute, events: EventSchemas): JsonObject {
  const refs = Object.keys(events).map((type) => [type, { $ref: `#/components/schemas/event.${type}` }]);
  return {
    operationId: operation.name,
    summary: operation.summary,
    tags: [featureOf(operation)],
    "x-svc-scope": operation.scope,
    ...(operation.command && { "x-svc-command": operation.command }),
    ...(http.public && { security: [] }),
    ...(http.paced && { security: [{ BearerAuth: [] }, { BasicAuth: [] }] }),
    ...(http.stream !== undefined && !http.content && { "x-svc-events": Object.fromEntries(refs) }),
    ...request(operation, http),
    responses: responses(operation, http),
  };
}

/** The parameter of what may take long. */
const WAIT = {
  name: "wait",
  in: "query",
  required: false,
  description: "0: answer at once, with the id of a run",
  schema: { type: "integer", enum: [0] },
};

const KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A UUID in double quotes: a repeat within a day gets the first answer, and nothing is done again",
  schema: { type: "string" },
};

/** The answer to `wait=0`. */
const ACCEPTED = {
  description: "With `wait=0`: it goes on as a run",
  headers: { Location: { schema: { type: "string" }, description: "Where the run can be seen" } },
  content: {
    "application/json": {
      schema: { type: "object", properties: { run_id: { type: "string" } }, required: ["run_id"] },
    },
  },
};

/** The parameters and the body that carry the fields of an input, with the example of the table: else a page makes one up. */
function request(operation: Operation, { method, path, body, long }: HttpRoute): JsonObject {
  const { input, example = {} } = operation;
  const whole = jsonSchema(input, "input") as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  const { properties = {}, required = [] } = whole;
  const hasQuery = method !== "POST" || body !== undefined;
  const parameters: JsonObject[] = Object.entries(properties).flatMap(
    ([name, { description, ...schema }]) => {
      const inPath = path.includes(`{${name}}`);
      if (name === body || !(hasQuery || inPath)) return [];
      const needed = inPath || required.includes(name);
      const shown = Object.hasOwn(example, name) && { example: example[name] };
      return [{ name, in: inPath ? "path" : "query", required: needed, description, schema, ...shown }];
    },
  );
  const inBody = (name: string) => !path.includes(`{${name}}`);
  const inBodyRequired = required.filter(inBody);
  const rest = {
    ...whole,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => inBody(name))),
    required: inBodyRequired,
  };
  const needed = body === undefined ? inBodyRequired.length > 0 : required.includes(body);
  const schema = body === undefined ? rest : properties[body];
  const sent = Object.fromEntries(Object.entries(example).filter(([name]) => inBody(name)));
  const shown = body === undefined && Object.keys(sent).length > 0 && { example: sent };
  if (long) parameters.push(WAIT);
  if (takesIdempotencyKey(operation)) parameters.push(KEY);
  const requestBody = {
    required: needed,
    content: { [takesText(operation) ? "text/plain" : "application/json"]: { schema, ...shown } },
  };
  return { ...(parameters.length > 0 && { parameters }), ...(method === "POST" && { requestBody }) };
}

function responses(operation: Operation, http: HttpRoute): JsonObject {
  const { output } = operation;
  // A line stands in the place that JSON Schema has for what a string contains.
  const line = http.line && {
    contentMediaType: "application/json",
    contentSchema: jsonSchema(http.line, "output"),
  };
  const text = (type: string) => ({ [type]: { schema: { type: "string", ...line } } });
  const content = http.socket
    ? {}
    : http.content
      ? text(http.content)
      : {
          ...(http.stream !== undefined && text(http.stream)),
          "application/json": { schema: jsonSchema(output, "output") },
        };
  const ref = (name: string) => ({ $ref: `#/components/responses/${name}` });
  const done =
    http.socket === undefined
      ? { "200": { description: "Done", content } }
      : { "101": { description: `A WebSocket with the subprotocol ${http.socket}` } };
  return {
    ...done,
    ...(http.long && { "202": ACCEPTED }),
    "400": ref("BadInput"),
    ...(takesIdempotencyKey(operation) && { "422": ref("OtherRequest") }),
    ...(!http.public && { "401": ref("Unauthorized") }),
    ...(http.public !== true && { "403": ref("Forbidden"), "429": ref("TooManyRequests") }),
    default: ref("Failure"),
  };
}

function failure(description: string, headers?: JsonObject): JsonObject {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return { description, ...(headers && { headers }), content };
}

function tagsOf(operations: readonly Operation[]): Array<{ name: string }> {
  const features = operations.filter(({ http }) => http).map(featureOf);
  return [...new Set(features)].sort().map((name) => ({ name }));
}

const featureOf = ({ name }: Operation) => name.split(".")[0] ?? name;
