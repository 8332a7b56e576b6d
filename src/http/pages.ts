/**
 * The pages over HTTP: the dashboard and the API explorer, each a page and its assets. They are public; what they show
 * comes from operations that need a token.
 */
import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { PageAssets } from "./assets";

type Page = "dashboard" | "explorer";
type Uses = Readonly<Record<Page, () => Promise<PageAssets>>>;

const leftOut = { cli: "a page is for a browser", script: "a page is for a browser" };

const operationsOf = (page: Page, path: `/${string}`, what: string) => [
  operation({
    name: `${page}.page`,
    summary: `Send the page of the ${what}`,
    scope: "read",
    http: { method: "GET", path, public: true, content: "text/html" },
    leftOut,
    input: NO_INPUT,
    output: v.instance(Response),
    run: async (service: Uses, _input, caller) => (await service[page]()).page(caller.headers),
  }),
  operation({
    name: `${page}.asset`,
    summary: `Send a file that the page of the ${what} uses`,
    scope: "read",
    http: { method: "GET", path: `${path}/{asset}`, public: true, content: "*/*" },
    leftOut,
    input: v.strictObject({ asset: field(v.string(), "Name of the file") }),
    output: v.instance(Response),
    run: async (service: Uses, { asset }, caller) => (await service[page]()).asset(asset, caller.headers),
  }),
];

export const pageOperations = [
  ...operationsOf("dashboard", "/dashboard", "dashboard"),
  ...operationsOf("explorer", "/docs", "API explorer"),
];
