import { serveSource } from "../support";
import { testPages } from "./assets";

testPages(() => serveSource());
