import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";

export const explorerPage = operation({
  name: "explorer.page",
  summary: "Give the page of the API explorer",
  scope: "read",
  http: { method: "GET", path: "/docs", public: true, content: "text/html" },
  input: NO_INPUT,
  output: v.instance(Response),
  run: async (service: Service, _input, caller) => (await service.explorer()).page(caller.headers),
});

export const explorerAsset = operation({
  name: "explorer.asset",
  summary: "Give a file that the page of the API explorer is made of",
  scope: "read",
  http: { method: "GET", path: "/docs/{asset}", public: true, content: "*/*" },
  input: v.strictObject({ asset: field(v.string(), "Name of the file") }),
  output: v.instance(Response),
  run: async (service: Service, { asset }, caller) => (await service.explorer()).asset(asset, caller.headers),
});

export const operations = [explorerPage, explorerAsset];
