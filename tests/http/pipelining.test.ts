import { serveSource } from "../support";
import { testPipelining } from "./pipelining";

testPipelining(() => serveSource(["--rate-limit", "0"]));
