/** The API document: valid, complete, and usable by a client generated from it. */
import { expect, mock, test } from "bun:test";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import typescript from "typescript5";
import type { GenericSchema } from "valibot";
import { checkInput } from "../../src/core/input";
import type { HttpRoute } from "../../src/core/operation";
import { metadataOf } from "../../src/core/schema";
import { schemasOf } from "../../src/events/schema";
import { createApp } from "../../src/http/app";
import { openApiDocument } from "../../src/http/openapi";
import { eventTypes, operations } from "../../src/operations";
import type { Service } from "../../src/service/service";
import { temporaryFolder, testServer, testService } from "../support";
import { appParts } from "./app-parts";

const URL_OF_SERVER = "http://127.0.0.1:9939";
const document = () => openApiDocument(operations, URL_OF_SERVER, schemasOf(eventTypes));

test("is valid OpenAPI 3.1 to a validator that is not ours", async () => {
  const validator = new Validator();
  expect(await validator.validate(document())).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("is made once for a server, not for each request", async () => {
  await using host = await testServer();
  const before = await host.service.apiDocument(host.server.url);
  await host.call("/openapi.json");
  expect(await host.service.apiDocument(host.server.url)).toBe(before);
  expect(await host.service.apiDocument("/")).not.toBe(before);
});

test("leaves the event loop to others while what it describes is loaded", async () => {
  let turn = 0;
  const count = () => {
    turn++;
    turns = setImmediate(count);
  };
  let turns = setImmediate(count);
  const loaded: number[] = [];
  const late = operations
    .filter(({ http }) => http)
    .slice(0, 4)
    .map((one) =>
      Object.defineProperty({ ...one }, "input", {
        ...{ configurable: true, enumerable: true },
        get() {
          loaded.push(turn);
          const until = performance.now() + 10;
          while (performance.now() < until);
          Object.defineProperty(this, "input", { value: one.input, enumerable: true });
          return one.input;
        },
      }),
    );
  await using host = testService({ operations: late });
  await host.service.apiDocument("/");
  clearImmediate(turns);
  expect(new Set(loaded).size).toBe(4);
});

test("names the server that gives it, and needs a token everywhere but on public paths", async () => {
  await using host = await testServer();
  expect(await (await host.call("/openapi.json")).json()).toMatchObject({
    servers: [{ url: host.server.url }],
    security: [{ BearerAuth: [] }],
    components: {
      securitySchemes: { BearerAuth: { type: "http", scheme: "bearer" }, BasicAuth: { scheme: "basic" } },
    },
  });
  const open = operations.flatMap(({ http, name }) => (http?.public ? name : []));
  const other = documentedOperations().filter(({ operation }) => "security" in operation);
  const named = (security: unknown) =>
    other
      .filter(({ operation }) => JSON.stringify(operation.security) === JSON.stringify(security))
      .map(({ operation }) => String(operation.operationId))
      .sort();
  expect(named([])).toEqual(open.sort());
  const paced = operations.flatMap(({ http, name }) => (http?.paced ? name : []));
  expect(named([{ BearerAuth: [] }, { BasicAuth: [] }])).toEqual(paced.sort());
  expect(other.length).toBe(open.length + paced.length);
});

test("takes the address of a server with and without a slash at its end", () => {
  const addressIn = (url: string) => openApiDocument([], url).servers;
  expect(addressIn("https://lab-01:9939/svc/")).toEqual([{ url: "https://lab-01:9939/svc" }]);
  expect(addressIn("https://lab-01:9939")).toEqual([{ url: "https://lab-01:9939" }]);
  expect(addressIn("/")).toEqual([{ url: "/" }]);
});

test("has every route that is registered, and no other", async () => {
  await using made = testService();
  expect(documentedRoutes()).toEqual(await registeredRoutes(made.service));
});

test("has no keyword that JSON Schema does not know, but those that begin with x-svc-", () => {
  const unknown = allSchemas().flatMap((schema) => Object.keys(schema).filter((name) => !KEYWORDS.has(name)));
  expect([...new Set(unknown)].sort()).toEqual(["x-svc-actions", "x-svc-secret", "x-svc-text"]);
});

test("has the example of the table for each body and query, which passes its check", () => {
  const { paths } = document() as { paths: Record<string, Record<string, { requestBody?: unknown }>> };
  expect(paths["/execute"]?.post?.requestBody).toMatchObject({
    content: { "application/json": { example: { actions: [["AC_screen_size"]] } } },
  });
  expect(paths["/admin/poll"]?.get).toMatchObject({
    parameters: expect.arrayContaining([expect.objectContaining({ name: "on", example: "tag:lab" })]),
  });
  const wrong = operations.filter(({ input, example, http }) => {
    return http && example && !checkInput(input, example).ok;
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test("marks each secret that is sent as writeOnly, and none that is answered", () => {
  for (const { input, http, name } of operations) {
    if (!http) continue;
    const { parameters = [], requestBody } = partsOf(http);
    const [body = {}] = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
    const fields = http.body === undefined ? body.properties : { [http.body]: body };
    const sent = { ...fields, ...Object.fromEntries(parameters.map((one) => [one.name, one.schema])) };
    const secrets = Object.entries(input.entries).flatMap(([field, entry]) =>
      metadataOf(entry as GenericSchema).secret ? field : [],
    );
    const marked = Object.keys(sent).filter((field) => sent[field]?.writeOnly);
    expect({ name, marked: marked.sort() }).toEqual({ name, marked: secrets.sort() });
    expect(JSON.stringify(partsOf(http).responses)).not.toContain("writeOnly");
  }
});

test("describes the bundle that an import takes", () => {
  const { requestBody } = partsOf({ method: "POST", path: "/config/import" });
  expect(requestBody?.content["application/json"].schema).toMatchObject({
    type: "object",
    required: ["manifest", "files"],
    properties: {
      manifest: { properties: { version: { const: 1 } }, required: ["version"] },
      files: {
        propertyNames: { enum: expect.arrayContaining(["admin_hosts.json", "viewer_id"]) },
        additionalProperties: { required: ["format", "content"] },
      },
    },
  });
});

test("gives every operation a unique id", () => {
  const ids = operations.map(({ name }) => name);
  expect(new Set(ids).size).toBe(ids.length);
});

test("names a command exactly where /commands does", async () => {
  await using host = await testServer({ service: { allow_shell: true, allow_audit_clear: true } });
  const inTable = operations.flatMap(({ command }) => command ?? []).sort();
  expect(await (await host.call("/commands")).json()).toMatchObject({ commands: inTable });
  const inDocument = documentedOperations().flatMap(({ operation }) => operation["x-svc-command"] ?? []);
  const routed = operations.flatMap(({ command, http }) => (command && http ? command : []));
  expect(inDocument.sort()).toEqual(routed.sort());
});

test("gives a TypeScript client that compiles, and refuses what the API does", async () => {
  // openapi-typescript needs the compiler's API of TypeScript 5, which TypeScript 7 no longer has.
  mock.module("typescript", () => ({ default: typescript }));
  const { default: openapiTS, astToString } = await import("openapi-typescript");
  using folder = temporaryFolder();
  await Bun.write(join(folder.path, "api.d.ts"), astToString(await openapiTS(JSON.stringify(document()))));
  await Bun.write(join(folder.path, "client.ts"), CLIENT);
  const tsc = join(import.meta.dir, "..", "..", "node_modules", ".bin", "tsc");
  const compiled = Bun.spawn(
    [tsc, "--noEmit", "--strict", "--target", "esnext", "--moduleResolution", "bundler", "client.ts"],
    { cwd: folder.path, stdio: ["ignore", "pipe", "inherit"] },
  );
  expect(await new Response(compiled.stdout).text()).toBe("");
  expect(await compiled.exited).toBe(0);
}, 180_000);

const CLIENT = `
import type { paths } from "./api";

type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
} ? Body : never;
type Question<P extends keyof paths> = paths[P] extends {
  post: { requestBody?: { content: { "application/json": infer Body } } };
} ? Body : never;

declare function get<P extends keyof paths>(path: P): Promise<Answer<P>>;
declare function post<P extends keyof paths>(path: P, body: Question<P>): Promise<void>;

const status: "ok" = (await get("/health")).status;
const commands: string[] = (await get("/commands")).commands;
await post("/execute", { actions: [["AC_rest_api_status"]], stop_on_error: true });
// @ts-expect-error there is no such path
await get("/nowhere");
// @ts-expect-error actions are missing
await post("/execute", { stop_on_error: true });
export { commands, status };
`;

/** The keywords of JSON Schema 2020-12 that the document uses: core, applicators, validation, annotations, content. */
const KEYWORDS = new Set([
  ...["$ref", "allOf", "anyOf", "oneOf", "not", "prefixItems", "items", "properties", "propertyNames"],
  ...["additionalProperties", "type", "enum", "const", "required", "pattern", "format", "uniqueItems"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "minProperties", "maxProperties"],
  ...["title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated"],
  ...["contentEncoding", "contentMediaType", "contentSchema"],
]);

type Schema = { properties?: Record<string, Schema>; writeOnly?: true } & Record<string, unknown>;

interface Parts {
  parameters?: ReadonlyArray<{ name: string; schema: Schema }>;
  requestBody?: { content: { "application/json": { schema: Schema } } };
  responses: Record<string, unknown>;
}

const partsOf = ({ method, path }: Pick<HttpRoute, "method" | "path">) =>
  (document().paths as Record<string, Record<string, Parts>>)[path]?.[method.toLowerCase()] as Parts;

/** Every schema in the document, those inside others included. */
function allSchemas(): object[] {
  const inSchema = (schema: unknown): object[] => {
    if (typeof schema !== "object" || schema === null) return [];
    return [
      schema,
      ...Object.entries(schema).flatMap(([keyword, value]) => {
        if (/^(default|const|enum|examples|required)$/.test(keyword)) return [];
        if (keyword === "properties") return Object.values(value).flatMap(inSchema);
        return Array.isArray(value) ? value.flatMap(inSchema) : inSchema(value);
      }),
    ];
  };
  const below = (value: unknown): object[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) =>
      name === "schema" ? inSchema(inner) : below(inner),
    );
  };
  return below(document().paths);
}

/** `METHOD /path` of every route in the document. */
const documentedRoutes = () =>
  documentedOperations()
    .map(({ route }) => route)
    .sort();

function documentedOperations() {
  const paths = Object.entries(document().paths as Record<string, Record<string, Record<string, string>>>);
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
}

/** The same of every route that the HTTP app answers on. */
async function registeredRoutes(service: Service): Promise<string[]> {
  const app = createApp(appParts(service, "unused-token", await service.metrics()));
  const asTemplate = (path: string) => path.replaceAll(/:(\w+)\{[^}]*\}/g, "{$1}");
  return app.routes.map(({ method, path }) => `${method} ${asTemplate(path)}`).sort();
}
