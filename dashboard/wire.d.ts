/**
 * The types of what the dashboard sends and receives, taken from the API document (`openapi.d.ts`, which `npm run check`
 * writes).
 */
import type { paths } from "./openapi";

type Operation<Method extends "get" | "post", Route extends keyof paths> = NonNullable<paths[Route][Method]>;

type RoutesOf<Method extends "get" | "post"> = {
  [Route in keyof paths]: [Operation<Method, Route>] extends [never] ? never : Route;
}[keyof paths];

/** A route without its leading slash, with or without a query: `jobs`, `audit/list?limit=50`. */
type PathOf<Route> = Route extends `/${infer Bare}` ? Bare | `${Bare}?${string}` : never;

/** What may be asked with GET, and with POST. */
export type GetPath = PathOf<RoutesOf<"get">>;
export type PostPath = PathOf<RoutesOf<"post">>;

type RouteOf<Path extends string> = `/${Path extends `${infer Bare}?${string}` ? Bare : Path}` & keyof paths;

type ContentOf<Body> = Body extends { content: infer Content } ? Content[keyof Content] : never;

/** The body of a good answer at a path; of an answer in lines, one line. */
export type Answer<Path extends GetPath | PostPath> =
  Operation<"get" | "post", RouteOf<Path>> extends { responses: { 200: infer Good } }
    ? ContentOf<Good>
    : never;

/** The body of a POST to a path. */
export type Body<Path extends PostPath> =
  Operation<"post", RouteOf<Path>> extends { requestBody?: infer Sent } ? ContentOf<Sent> : never;
