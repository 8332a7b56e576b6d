/**
 * The names that are this server's own: those of its machine and those of its certificate. No network is asked for them.
 */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Where the machine keeps its names; tests have files of their own. */
interface NameFiles {
  /** hosts(5). */
  readonly hosts: string;
  /** resolv.conf(5). */
  readonly resolver: string;
}

const FILES: NameFiles =
  process.platform === "win32"
    ? { hosts: `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts`, resolver: "" }
    : { hosts: "/etc/hosts", resolver: "/etc/resolv.conf" };

/**
 * The names of this machine, in lower case: its host name and the first label of that; this label in `.local` (RFC 6762) and
 * in each search domain of the resolver; and what the hosts file has on a line with one of these.
 */
export function machineNames(own = hostname(), files = FILES): Set<string> {
  const name = own.toLowerCase();
  const label = name.replace(/\..*$/, "");
  const domains = linesOf(files.resolver)
    .filter(([keyword]) => keyword === "search" || keyword === "domain")
    .flatMap(([, ...domains]) => domains);
  const names = new Set([name, label, ...["local", ...domains].map((domain) => `${label}.${domain}`)]);
  for (const [, ...aliases] of linesOf(files.hosts)) {
    if (aliases.some((alias) => alias === name || alias === label)) for (const one of aliases) names.add(one);
  }
  return names;
}

/** The words of each line of a file, in lower case and without comments; none of a file that cannot be read. */
function linesOf(path: string): string[][] {
  try {
    const lines = readFileSync(path, "utf8").toLowerCase().split(/\r?\n/);
    return lines.map((line) =>
      line
        .replace(/[#;].*$/, "")
        .trim()
        .split(/\s+/),
    );
  } catch {
    return [];
  }
}

/**
 * Whether a name is one of the certificate's DNS names. A wildcard stands for exactly one label, the first; the subject is no
 * name (RFC 9525 sections 6.2 to 6.4).
 *
 * @param pem the certificate, with or without its chain. Without a usable one, no name is: `listen` says what is wrong.
 */
export function certificateNames(pem: string): (name: string) => boolean {
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  try {
    const certificate = new X509Certificate(pem);
    return (name) =>
      /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name) &&
      certificate.checkHost(name, { subject: "never", partialWildcards: false }) !== undefined;
  } catch {
    return () => false;
  }
}
