/** `svc pin`: prints the pin of this host's TLS key, and of the one that comes next. */
import { view } from "../src/cli/view";
import { status } from "../src/trust/operations/tls";

export default view(status, {
  columns: ["PIN", "NEXT ONE", "IN USE FROM"],
  rows: ({ pin, next_spki, next_from }) => [[pin, next_spki ?? "", next_from ?? ""]],
  text: ({ pin }) => pin,
  warnings: ({ next_spki, next_from, tls }) => [
    ...(next_spki === null ? [] : [`from ${next_from} on it is ${next_spki}`]),
    ...(tls === false ? ["the server speaks plain http: it does not use this key"] : []),
  ],
  examples: [
    ["$0 pin", "For `svc admin add … --pin`; it stays when the certificate is renewed"],
    ["$0 pin --on all", "Of every host, and which key comes next"],
  ],
});
