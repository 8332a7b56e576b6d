/**
 * What the official conformance suite asks of a server, on the endpoint and the tool server of svc: tools of each kind of content,
 * resources, prompts, and requests for input. svc itself has tools that answer with text and pictures, and asks clients for
 * nothing.
 */
import {
  InMemoryServerEventBus,
  isLegacyRequest,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { localCaller } from "../../../src/core/caller";
import { createBudget } from "../../../src/host/mcp/budget";
import { createCalls } from "../../../src/host/mcp/calls";
import { createEndpoint, requireOrigin } from "../../../src/host/mcp/http";
import { createProposals } from "../../../src/host/mcp/proposals";
import { createPictures } from "../../../src/host/mcp/resources";
import { createToolServer, type Peer } from "../../../src/host/mcp/server";
import { createHostCheck } from "../../../src/http/host-header";
import { Failure, HTTP_STATUS } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

type Context = ServerContext;
type Given = Readonly<Record<string, unknown>>;
type Result = Record<string, unknown>;
type Tool = (given: Given, ctx: Context) => Result | Promise<Result>;

const say = (text: string): Result => ({ content: [{ type: "text", text }] });
const embedded = (uri: string, mimeType: string, text: string) => ({
  type: "resource",
  resource: { uri, mimeType, text },
});
const picture = { type: "image", data: PIXEL, mimeType: "image/png" };

const form = (message: string, properties: object, required: readonly string[] = []) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required } },
});
const askName = (message = "What is your name?") => form(message, { name: { type: "string" } }, ["name"]);
const sample = (text: string, maxTokens = 100) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens },
});
const ROOTS = { method: "roots/list", params: {} };

const wanting = (inputRequests: Record<string, unknown>, requestState?: string): Result => ({
  resultType: "input_required",
  inputRequests,
  ...(requestState !== undefined && { requestState }),
});

/** State that a client cannot change: a text and its HMAC. */
const KEY = crypto.getRandomValues(new Uint8Array(32));
const macOf = (text: string) => new Bun.CryptoHasher("sha256", KEY).update(text).digest("hex");
const sealed = (text: string) => `${text}.${macOf(text)}`;
function opened({ mcpReq }: Context): string | undefined {
  const state: unknown = mcpReq.requestState();
  if (state === undefined) return undefined;
  const [text = "", mac] = String(state).split(".");
  if (mac === macOf(text)) return text;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the state was tampered with");
}

const answered = ({ mcpReq }: Context, name: string): Given | undefined => {
  const response = mcpReq.inputResponses?.[name];
  return typeof response === "object" && response !== null ? (response as Given) : undefined;
};
const contentOf = (response: Given | undefined) => (response?.content ?? undefined) as Given | undefined;

/** Asks the client while the call goes on, as 2025-11-25 has it. */
const eliciting =
  (properties: object, words = "Please fill this in"): Tool =>
  async ({ message }, { mcpReq }) => {
    const { params } = form(typeof message === "string" ? message : words, properties);
    const { action, content } = await mcpReq.elicitInput(params as never);
    return say(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
  };

const titled = (...titles: string[]) => titles.map((title, at) => ({ const: `value${at + 1}`, title }));
const OPTIONS = ["option1", "option2", "option3"];

async function steps(notify: (nth: number) => Promise<void>) {
  for (const nth of [0, 50, 100]) await notify(nth);
}

const changes = new InMemoryServerEventBus();

const TOOLS: Readonly<Record<string, Tool>> = {
  test_simple_text: () => say("This is a simple text response for testing."),
  test_image_content: () => ({ content: [picture] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      picture,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }),
  test_error_handling: () => ({
    ...say("This tool intentionally returns an error for testing"),
    isError: true,
  }),
  async test_tool_with_logging(_given, { mcpReq }) {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"])
      await mcpReq.log("info", data);
    return say("logged");
  },
  async test_logging_tool(_given, { mcpReq }) {
    for (const level of ["debug", "info", "warning"] as const) await mcpReq.log(level, level);
    return say("logged");
  },
  async test_tool_with_progress(_given, { mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken;
    await steps(async (progress) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
      await mcpReq.notify({ method: "notifications/progress", params });
    });
    return say(`${progressToken}`);
  },
  async test_sampling({ prompt }, { mcpReq }) {
    const { content } = await mcpReq.requestSampling(sample(`${prompt}`).params as never);
    return say(`LLM response: ${Object([content].flat()[0]).text}`);
  },
  test_elicitation: eliciting({ response: { type: "string", description: "User's response" } }),
  test_elicitation_sep1034_defaults: eliciting({
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  }),
  test_elicitation_sep1330_enums: eliciting({
    untitledSingle: { type: "string", enum: OPTIONS },
    titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
    legacyEnum: {
      ...{ type: "string", enum: ["opt1", "opt2", "opt3"] },
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
    titledMulti: { type: "array", items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") } },
  }),
  test_missing_capability(_given, { mcpReq }) {
    const declared = Object(Object(mcpReq.envelope)["io.modelcontextprotocol/clientCapabilities"]);
    if (declared.sampling) return say("sampling is there");
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_streaming_elicitation(_given, ctx) {
    const name = contentOf(answered(ctx, "user_name"))?.name;
    return name === undefined ? wanting({ user_name: askName() }) : say(`Hello, ${name}!`);
  },
  test_trigger_tool_change() {
    changes.publish({ kind: "tools_list_changed" });
    return say("changed");
  },
  test_trigger_prompt_change() {
    changes.publish({ kind: "prompts_list_changed" });
    return say("changed");
  },
  test_input_required_result_elicitation(_given, ctx) {
    const name = contentOf(answered(ctx, "user_name"))?.name;
    return typeof name === "string" ? say(`Hello, ${name}!`) : wanting({ user_name: askName() });
  },
  test_input_required_result_sampling(_given, ctx) {
    const response = answered(ctx, "capital_question");
    if (!response) return wanting({ capital_question: sample("What is the capital of France?") });
    return say(`${Object([response.content].flat()[0]).text}`);
  },
  test_input_required_result_list_roots(_given, ctx) {
    const response = answered(ctx, "client_roots");
    return response ? say(JSON.stringify(response.roots)) : wanting({ client_roots: ROOTS });
  },
  test_input_required_result_request_state(_given, ctx) {
    const asks = { confirm: form("Please confirm", { ok: { type: "boolean" } }, ["ok"]) };
    return opened(ctx) === "asked" && answered(ctx, "confirm")
      ? say("state-ok")
      : wanting(asks, sealed("asked"));
  },
  test_input_required_result_multiple_inputs(_given, ctx) {
    const asks = {
      ...{ user_name: askName(), greeting: sample("Generate a greeting", 50) },
      client_roots: ROOTS,
    };
    const isComplete = opened(ctx) === "asked" && Object.keys(asks).every((name) => answered(ctx, name));
    return isComplete ? say("complete") : wanting(asks, sealed("asked"));
  },
  test_input_required_result_multi_round(_given, ctx) {
    const color = form("Step 2: What is your favorite color?", { color: { type: "string" } }, ["color"]);
    const state = opened(ctx);
    if (state === "two" && answered(ctx, "step2")) return say("complete");
    if (state === "one" && answered(ctx, "step1")) return wanting({ step2: color }, sealed("two"));
    return wanting({ step1: askName("Step 1: What is your name?") }, sealed("one"));
  },
  test_input_required_result_tampered_state(_given, ctx) {
    const asks = { confirm: form("Please confirm", { ok: { type: "boolean" } }, ["ok"]) };
    return opened(ctx) === undefined ? wanting(asks, sealed("asked")) : say("state-ok");
  },
  test_input_required_result_capabilities(_given, { mcpReq }) {
    const { elicitation, sampling } = Object(
      Object(mcpReq.envelope)["io.modelcontextprotocol/clientCapabilities"],
    );
    const asks = {
      ...(elicitation && { user_name: askName() }),
      ...(sampling && { greeting: sample("Generate a greeting", 50) }),
    };
    return Object.keys(asks).length > 0 ? wanting(asks) : say("the client can be asked nothing");
  },
};

const REQUIRED: Readonly<Record<string, string>> = { test_sampling: "prompt", test_elicitation: "message" };

const listedTools = Object.keys(TOOLS).map((name) => {
  const argument = REQUIRED[name];
  return {
    name,
    description: `The fixture ${name}`,
    inputSchema: {
      type: "object" as const,
      ...(argument !== undefined && {
        properties: { [argument]: { type: "string" } },
        required: [argument],
      }),
    },
  };
});

const TEXTS: Readonly<Record<string, object>> = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PIXEL },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

const HINTS = { ttlMs: 1_000, cacheScope: "public" as const };
const message = (content: unknown) => ({ role: "user", content });
const words = (text: string) => message({ type: "text", text });

const PROMPTS: Readonly<Record<string, { args?: string[]; get: Tool }>> = {
  test_simple_prompt: { get: () => ({ messages: [words("This is a simple prompt for testing.")] }) },
  test_prompt_with_arguments: {
    args: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => ({
      messages: [words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  },
  test_prompt_with_embedded_resource: {
    args: ["resourceUri"],
    get: ({ resourceUri }) => ({
      messages: [
        message(embedded(`${resourceUri}`, "text/plain", "Embedded resource content for testing.")),
        words("Please process the embedded resource above."),
      ],
    }),
  },
  test_prompt_with_image: {
    get: () => ({ messages: [message(picture), words("Please analyze the image above.")] }),
  },
  test_input_required_result_prompt: {
    get(_given, ctx) {
      const context = contentOf(answered(ctx, "user_context"))?.context;
      const asks = form("What context should the prompt use?", { context: { type: "string" } }, ["context"]);
      return context === undefined
        ? wanting({ user_context: asks })
        : { messages: [words(`In the context of ${context}`)] };
    },
  },
};

/** Gives the tool server of svc all that the suite asks for. */
function fill(server: Server): Server {
  server.registerCapabilities({
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  });
  server.setRequestHandler("tools/list", async () => ({ tools: listedTools, ...HINTS }));
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    const tool = Object.hasOwn(TOOLS, params.name) ? TOOLS[params.name] : undefined;
    if (tool) return (await tool(params.arguments ?? {}, ctx)) as never;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
  });
  server.setRequestHandler("resources/list", async () => ({
    resources: Object.keys(TEXTS).map((uri) => ({ uri, name: uri })),
    ...HINTS,
  }));
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
    ...HINTS,
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    const found = id === undefined ? TEXTS[uri] : { mimeType: "application/json", text };
    if (found) return { contents: [{ uri, ...found } as never], ...HINTS };
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Resource not found", { uri });
  });
  server.setRequestHandler("resources/subscribe", async () => ({}));
  server.setRequestHandler("resources/unsubscribe", async () => ({}));
  server.setRequestHandler("prompts/list", async () => ({
    prompts: Object.entries(PROMPTS).map(([name, { args = [] }]) => ({
      ...{ name, description: `The fixture ${name}` },
      arguments: args.map((argument) => ({ name: argument, required: true })),
    })),
    ...HINTS,
  }));
  server.setRequestHandler("prompts/get", async ({ params }, ctx) => {
    const prompt = PROMPTS[params.name];
    if (prompt) return (await prompt.get(params.arguments ?? {}, ctx)) as never;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
  });
  server.setRequestHandler("completion/complete", async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  return server;
}

/**
 * Serves the fixture until the scope ends: at `/mcp` by the endpoint of svc, and at `/session` with a session for each client of
 * 2025-11-25, so that it can be asked for something while a call goes on.
 */
export function serveEverything(): Disposable & { readonly url: string } {
  const caller = localCaller({ audit: async () => null }, "api");
  const calls = createCalls({
    ...{ service: {}, operations: [], hosts: null, ask: null, log: silentLog },
    ...{
      perform: () => ({}),
      proposals: createProposals(),
      budget: createBudget("/dev/null/unused"),
      pictures: createPictures(),
    },
  });
  const rowsOf = () => ({ announce: async () => {}, ended: async () => {} });
  const serverFor = (peer: Pick<Peer, "agent" | "cancelled"> = {}) =>
    fill(createToolServer(calls, { caller, offered: [], rowsOf, ...peer }, "A fixture."));
  const endpoint = createEndpoint<null>((_context, peer) => serverFor(peer), silentLog, { changes });
  const answersTo = createHostCheck([]);
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  const inSession = async (request: Request): Promise<Response> => {
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    if (known) return known.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await serverFor().connect(transport);
    return transport.handleRequest(request);
  };

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      if (!answersTo(request.headers.get("host") ?? "")) return new Response(null, { status: 421 });
      const { pathname } = new URL(request.url);
      if (pathname === "/session" && (request.method !== "POST" || (await isLegacyRequest(request))))
        return inSession(request);
      if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
      try {
        requireOrigin(request.headers, []);
        const asked = { caller: { ...caller, request: { headers: request.headers, gone: request.signal } } };
        return await endpoint.answer({ ...asked, message: await request.json() }, null);
      } catch (error) {
        const status = error instanceof Failure ? HTTP_STATUS[error.code] : 400;
        return Response.json({ error: String(error) }, { status });
      }
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.dispose]() {
      void endpoint.close();
      void server.stop(true);
    },
  };
}
