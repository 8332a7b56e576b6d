/**
 * The addresses of a name, without a thread for it.
 *
 * getaddrinfo(3) blocks one of as few threads as there are processors: a poll of a thousand names would take their look-ups one
 * after the other, and a name that no server answers for would keep the others, and in the end the process, waiting.
 */
import { lookup as lookupOfSystem } from "node:dns";
import type { LookupFunction } from "node:net";
import { systemCode } from "../lib/errors";

/** For `connect`: asks the name servers side by side; what they do not know, the system may (nsswitch.conf(5)). */
export const lookup: LookupFunction = (name, options, done) => {
  const askSystem = () => lookupOfSystem(name, options, done);
  if (process.platform !== "linux" || name.endsWith(".local")) return askSystem();
  Bun.dns.lookup(name, { backend: "c-ares" }).then(
    (found) => {
      const [first] = found;
      if (!first) askSystem();
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    },
    (error) => (systemCode(error) === "DNS_ETIMEOUT" ? done(error, "") : askSystem()),
  );
};
