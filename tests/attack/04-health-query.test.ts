/** Attack: none; a load balancer adds a query to `/health`, and takes a healthy host out of service for a 400. */
import { expect, test } from "bun:test";
import { serveBinary } from "../support";
import { statusOf } from "./raw";

test("the public pages take any query", async () => {
  await using server = await serveBinary();
  for (const path of ["/health?x=y", "/health?x=y&x=z", "/health?%", "/dashboard?x=y", "/docs?x=y"]) {
    expect([path, await statusOf(server, path)]).toEqual([path, 200]);
  }
});
