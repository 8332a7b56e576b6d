/** Attack: none; a client that sends two requests in one packet got no answer after the first had changed something. */
import { testPipelining } from "../http/pipelining";
import { serveBinary } from "../support";

testPipelining(() => serveBinary(["--rate-limit", "0"]));
