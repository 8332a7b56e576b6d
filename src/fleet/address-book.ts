/**
 * The address book: `{config_dir}/admin_hosts.json`.
 *
 * Promises. Two processes that change it at once both have their way: each change is read, made and written under a lock.
 * A reader sees the old file or the new one. A file that is not an address book is named in an error and stays as it is;
 * an entry that is none is left out with a warning and stays where it is in the file, as does every field that svc does
 * not know.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import * as v from "valibot";
import { conflict, notFound, systemCode, unavailable } from "../lib/errors";
import { writeFileAtomic } from "../lib/files";
import { withLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { type Host, parseHost } from "./host";

export interface AddressBook {
  /**
   * The hosts as the file has them now, in its order.
   *
   * @throws an `unavailable` failure when the file cannot be read or is broken.
   */
  hosts(): Host[];
  /** The host with that label. @throws `not_found` when there is none; as {@link hosts} does. */
  host(label: string): Host;
  /** Adds a host at the end. @throws `conflict` when the label is taken; as {@link hosts} does. */
  add(host: Host): Promise<void>;
  /**
   * Adds many hosts at once, or none.
   *
   * @param replace whether a host takes the place of the one that has its label.
   * @throws `conflict` naming the labels that are taken, unless `replace`.
   */
  addAll(hosts: readonly Host[], replace: boolean): Promise<{ added: number; replaced: number }>;
  /** Gives a host these tags and no others. @throws `not_found` when none has the label; as {@link hosts} does. */
  tag(label: string, tags: readonly string[]): Promise<Host>;
  /** @throws `not_found` when no host has the label; as {@link hosts} does. */
  remove(label: string): Promise<void>;
}

const BOOK = v.looseObject({ hosts: v.array(v.unknown()) });
type Book = v.InferOutput<typeof BOOK>;

/** @param paths the file, and the lock of those who change it. */
export function createAddressBook(paths: { file: string; lock: string }, log: Log): AddressBook {
  const { file, lock } = paths;
  let warned = "";

  const change = <T>(edit: (book: Book) => T) =>
    withLock(lock, () => {
      const book = readBook(file);
      const result = edit(book);
      writeFileAtomic(file, `${JSON.stringify(book, null, 2)}\n`);
      return result;
    });

  const addAll = (hosts: readonly Host[], replace: boolean) =>
    change((book) => {
      // The first of several of one label is the one that counts.
      const places = new Map(book.hosts.map((entry, at) => [labelOf(entry), at] as const).reverse());
      const taken = hosts.filter(({ label }) => places.has(label)).map(({ label }) => label);
      if (taken.length > 0 && !replace) throw conflict(takenText(taken));
      for (const host of hosts) {
        const at = places.get(host.label) ?? book.hosts.length;
        book.hosts[at] = host;
        places.set(host.label, at);
      }
      return { added: hosts.length - taken.length, replaced: taken.length };
    });

  const book: AddressBook = {
    hosts() {
      const parsed = readBook(file).hosts.map(parseHost);
      const faults = parsed.flatMap((entry, at) =>
        "fault" in entry ? [`hosts[${at}]: ${entry.fault}`] : [],
      );
      const warning = faults.length > 0 ? `${file}: left out ${printable(faults.join("; "), 500)}` : "";
      if (warning && warning !== warned) log.warn(warning);
      warned = warning;
      return firstOfEach(parsed.flatMap((entry) => ("host" in entry ? [entry.host] : [])));
    },
    host(label) {
      const found = book.hosts().find((host) => host.label === label);
      if (!found) throw noSuchHost(label);
      return found;
    },
    async add(host) {
      await addAll([host], false);
    },
    addAll,
    tag: (label, tags) =>
      change((book) => {
        const at = book.hosts.findIndex((entry) => labelOf(entry) === label);
        const entry = Object.assign({}, book.hosts[at], { tags });
        const parsed = parseHost(entry);
        if ("fault" in parsed) throw noSuchHost(label);
        book.hosts[at] = entry;
        return parsed.host;
      }),
    remove: (label) =>
      change((book) => {
        const left = book.hosts.filter((entry) => labelOf(entry) !== label);
        if (left.length === book.hosts.length) throw noSuchHost(label);
        book.hosts = left;
      }),
  };
  return book;
}

/** The failure for a label that no host has. */
const noSuchHost = (label: string) => notFound(`no host is labelled ${printable(label, 130)}`);

function takenText(labels: readonly string[]): string {
  const named = labels.slice(0, 10).join(", ");
  const more = labels.length > 10 ? ` and ${labels.length - 10} more` : "";
  return `label: taken already: ${printable(named)}${more}`;
}

function readBook(file: string): Book {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { hosts: [] };
    throw unavailable(`${basename(file)} cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
  try {
    return v.parse(BOOK, JSON.parse(text));
  } catch {
    throw unavailable(`${basename(file)} is not an address book: it stays as it is, mend it or move it away`);
  }
}

/** The label of an entry as {@link parseHost} reads it; undefined for what has none. */
function labelOf(entry: unknown): string | undefined {
  const label = typeof entry === "object" && entry !== null && "label" in entry ? entry.label : undefined;
  return typeof label === "string" ? label.trim() : undefined;
}

/** Somebody may have written a label twice; a label stands for one host. */
function firstOfEach(hosts: readonly Host[]): Host[] {
  const seen = new Set<string>();
  return hosts.filter(({ label }) => !seen.has(label) && seen.add(label));
}
