import * as v from "valibot";
import { field, NO_INPUT, operation } from "../operation";

export const dashboardPage = operation({
  name: "dashboard.page",
  summary: "Give the page of the dashboard",
  scope: "read",
  http: { method: "GET", path: "/dashboard", public: true, content: "text/html" },
  input: NO_INPUT,
  output: v.instance(Response),
  run: async (service, _input, caller) => (await service.dashboard()).page(caller.headers),
});

export const dashboardAsset = operation({
  name: "dashboard.asset",
  summary: "Give a file that the page of the dashboard is made of",
  scope: "read",
  http: { method: "GET", path: "/dashboard/{asset}", public: true, content: "*/*" },
  input: v.strictObject({ asset: field(v.string(), "Name of the file") }),
  output: v.instance(Response),
  run: async (service, { asset }, caller) => (await service.dashboard()).asset(asset, caller.headers),
});

export const operations = [dashboardPage, dashboardAsset];
