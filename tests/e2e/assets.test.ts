/** The pages and their assets, as the compiled binary has them embedded. */
import { testPages } from "../http/assets";
import { serveBinary } from "../support";

testPages(() => serveBinary());
