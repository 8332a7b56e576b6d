/**
 * The tasks of `desktop-tasks` that are done in one page, by Playwright MCP: a scripted client (no model) looks at a snapshot, and acts by its
 * references, as that of `agents.ts` does. The page is there before the first call that counts, as it is there.
 */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { isDone } from "./desktop-tasks/runner";
import type { Task } from "./desktop-tasks/task";
import { startWorld } from "./desktop-tasks/world";

/** Fetched by npx when it is measured: it brings a Playwright of its own, which nothing else here needs. */
export const PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83";

/** What a task costs. */
export interface Cost {
  readonly calls: number;
  /** Of what tools are given and answer. */
  readonly bytes: number;
  readonly ms: number;
}

/** An agent with a page. */
interface PageAgent {
  /** What the page shows. */
  look(): Promise<string>;
  act(tool: string, given: Record<string, unknown>): Promise<string>;
}

/** The reference of the first thing that a snapshot shows by this role and name, below a line with `after`. */
function refOf(snapshot: string, shown: string, after = ""): string {
  const below = snapshot.slice(Math.max(0, snapshot.indexOf(after)));
  const found = below
    .split("\n")
    .find((line) => line.trimStart().startsWith(`- ${shown} `))
    ?.match(/\[ref=(\w+)\]/)?.[1];
  if (found === undefined) throw new Error(`no ${shown} in ${snapshot.slice(0, 500)}`);
  return found;
}

const TASKS: Readonly<Record<string, { readonly path: string; run(agent: PageAgent): Promise<unknown> }>> = {
  B01: {
    path: "/",
    async run({ look, act }) {
      const seen = await look();
      const fields = [
        { target: refOf(seen, 'textbox "Customer"'), name: "Customer", type: "textbox", value: "ACME" },
        { target: refOf(seen, 'checkbox "Paid"'), name: "Paid", type: "checkbox", value: "true" },
      ];
      await act("browser_fill_form", { fields });
      await act("browser_click", { target: refOf(seen, 'button "Save"') });
    },
  },
  B03: {
    path: "/start",
    async run({ look, act }) {
      await act("browser_click", { target: refOf(await look(), 'link "Orders"') });
      await act("browser_navigate_back", {});
      await act("browser_click", { target: refOf(await look(), 'link "Customers"') });
    },
  },
  B04: {
    path: "/table",
    async run({ look, act }) {
      await act("browser_click", { target: refOf(await look(), 'button "Pay"', 'cell "ACME"') });
    },
  },
};

/** Whether Playwright MCP does it here. */
export const isForPlaywright = ({ id }: Pick<Task, "id">): boolean => Object.hasOwn(TASKS, id);

/** Does a task. @throws why it did not pass, or that Playwright MCP does not start. */
export async function byPlaywright(task: Task): Promise<Cost> {
  const steps = TASKS[task.id];
  const browser = Bun.which("chromium");
  if (!steps || browser === null) throw new Error(`${task.id}: needs chromium, and steps for it`);
  await using world = await startWorld(undefined);
  const client = new Client({ name: "bench", version: "1" });
  // The browser has the home of the world; npx keeps what it has fetched.
  const cache = process.env.npm_config_cache ?? `${process.env.HOME}/.npm`;
  const flags = ["--headless", "--isolated", "--no-sandbox", "--executable-path", browser];
  await client.connect(
    new StdioClientTransport({
      ...{ command: "npx", args: ["--yes", PLAYWRIGHT_MCP, ...flags], cwd: world.folder, stderr: "ignore" },
      env: { ...world.env, npm_config_cache: cache },
    }),
  );
  const cost = { calls: 0, bytes: 0, ms: 0 };
  const call = async (name: string, given: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    const text = content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");
    if (isError) throw new Error(`${name}: ${text.slice(0, 300)}`);
    cost.calls++;
    cost.bytes += Buffer.byteLength(JSON.stringify(given)) + Buffer.byteLength(JSON.stringify(content));
    return text;
  };
  try {
    await call("browser_navigate", { url: `${world.url}${steps.path}` });
    Object.assign(cost, { calls: 0, bytes: 0 });
    const began = performance.now();
    await steps.run({ look: () => call("browser_snapshot", {}), act: call });
    cost.ms = performance.now() - began;
    if (!(await isDone(task, world)))
      throw new Error(`${task.id}: all of it was done, and the result is not there`);
    return cost;
  } finally {
    await client.close();
  }
}
