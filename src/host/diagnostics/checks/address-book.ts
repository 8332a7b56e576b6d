/** `address_book`: what makes sure that it is the hosts of the address book which answer, and that they are all in it. */
import { check, type Finding, fine, warning } from "../check";

/** A host, and its way of trust (`desk/fleet/host.ts`). */
interface Entry {
  readonly label: string;
  readonly base_url: string;
  readonly trust: string;
}

interface Book {
  trust(): readonly Entry[];
  /** Says that hosts are in a file that is not read; undefined where none are. */
  ignored(): string | undefined;
}

/** How many hosts are named in the detail. */
const NAMED = 5;

export const addressBook = check({
  name: "address_book",
  summary:
    "Hosts of the address book are reached by TLS; a warning for those that are reached by http beyond this machine, and for hosts in an `admin_hosts.json` that is not read",
  advice: ["restore `admin_hosts.db` from a backup"],
  async run({ addressBook }: { addressBook(): Promise<Book> }) {
    const book = await addressBook();
    const found = judge(book.trust());
    const ignored = book.ignored();
    if (ignored === undefined) return found;
    const detail = `${ignored}; ${found.detail}`;
    return warning(detail, [IGNORED_ADVICE, ...(found.advice ?? [])], { ...found.extra, ignored: true });
  },
});

const IGNORED_ADVICE =
  "`svc admin import admin_hosts.json` adds its hosts, or --replace also puts them in place of those here; then move the file away";

/** The finding about the hosts in the address book. */
function judge(hosts: readonly Entry[]): Finding {
  if (hosts.length === 0) return fine("no hosts", { hosts: 0 });
  const labelsOf = (trust: string) => hosts.filter((host) => host.trust === trust).map(({ label }) => label);
  const [plain, unpinned] = [labelsOf("nothing"), labelsOf("authorities")];
  const extra = { hosts: hosts.length, not_encrypted: plain, unpinned };
  const detail = `${hosts.length} hosts, ${unpinned.length} of them without a pin, by the usual authorities`;
  if (plain.length === 0) return fine(detail, extra);
  const named = `${plain.slice(0, NAMED).join(", ")}${plain.length > NAMED ? ", …" : ""}`;
  return warning(
    `${plain.length} of ${hosts.length} hosts are reached by http, which others can read and change, the token too: ${named}`,
    [
      "let them serve TLS, then `svc admin set LABEL --url https://… --pin spki:…` (`svc pin` prints it there)",
      "then replace their tokens: `svc admin rotate LABEL`",
    ],
    extra,
  );
}
