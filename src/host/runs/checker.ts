/**
 * Checking action lists against the table: whether they can run, with which rights, and which scripts they call.
 */
import * as v from "valibot";
import { loadLate } from "../../core/late-table";
import type { Operation } from "../../core/operation";
import {
  allows,
  beyond,
  type Grant,
  missingFor,
  notPermitted,
  PERMISSIONS,
  type Permission,
  type Scope,
  secretScope,
} from "../../core/rights";
import { entryOf, metadataOf } from "../../core/schema";
import { readScript, withPlaces } from "../../core/script";
import { forbidden, notFound } from "../../lib/errors";
import { once } from "../../lib/once";
import type { Requester } from "../../lib/slots";
import { createYamlReader } from "../../lib/yaml";
import { remoteFields } from "./action-fields";
import { type Command, type CommandTable, flatten } from "./actions";
import { CALLS, type CalledScripts, linkCalled, STORED } from "./called-scripts";
import { checkActions } from "./check-actions";
import { type CheckedList, checkedList, shownAction, withCalled } from "./checked-list";
import { Secrets } from "./redact";
import { describeCommand } from "./reference";
import type { NewScript, StoredScript } from "./stored-scripts";

/** What a checker is handed. */
export interface CheckerParts {
  readonly operations: readonly Operation[];
  /** What scripts may do in this process. */
  permits(need: Permission): boolean;
  /** The stored script of this name. @throws `not_found` for an unknown name; `unavailable` for one that was edited. */
  stored(name: string): Promise<StoredScript>;
}

/** Checks action lists over those operations that have a command name. */
export class Checker {
  /** The operations scripts may call, by name, sorted. */
  readonly commands: CommandTable;
  /** The names of the commands that this process may run, sorted, how many they are, and which it may not run. */
  readonly listed: {
    readonly commands: string[];
    readonly count: number;
    readonly not_permitted: Array<{ readonly command: string; readonly reason: string }>;
  };
  /** The entries of all commands in the reference, which is the same as long as this process runs. */
  readonly reference = once(async () => {
    await loadLate(this.sorted);
    const all = this.sorted.map((command) => describeCommand(command, this.allows(command)));
    return { commands: await Promise.all(all), count: all.length };
  });
  private readonly sorted: readonly Command[];
  /** Reads scripts that are written in YAML. */
  readonly yaml = createYamlReader();

  constructor(private readonly table: CheckerParts) {
    const named = table.operations.filter((one): one is Command => one.command !== undefined);
    this.sorted = named.toSorted((a, b) => (a.command < b.command ? -1 : 1));
    this.commands = new Map(this.sorted.map((operation) => [operation.command, operation]));
    const commands = this.allowed();
    const not_permitted = this.sorted.flatMap((operation) => {
      const { command, needs } = operation;
      return needs === undefined || this.allows(operation) ? [] : [{ command, reason: PERMISSIONS[needs] }];
    });
    this.listed = { commands, count: commands.length, not_permitted };
  }

  /** Whether this process may run the command. */
  allows({ needs }: Command): boolean {
    return needs === undefined || this.table.permits(needs);
  }

  /** The names of the commands that a process may run which permits this (default: this process), sorted. */
  allowed(permits: (need: Permission) => boolean = this.table.permits): string[] {
    const able = this.sorted.filter(({ needs }) => needs === undefined || permits(needs));
    return able.map(({ command }) => command);
  }

  /**
   * Checks a list that will run elsewhere: whether this process may run it does not matter.
   *
   * @param quote whether messages may quote arguments.
   * @throws a `bad_input` failure that lists every fault.
   */
  async check(list: unknown, quote = true): Promise<CheckedList> {
    return checkedList(await checkActions(this.commands, list, { quote }));
  }

  /**
   * Checks a list that will run here.
   *
   * @throws as {@link check}; a `forbidden` failure when this process may not run all of it.
   */
  async prepare(list: unknown, quote = true): Promise<CheckedList> {
    const checked = await this.check(list, quote);
    const needs = flatten(checked.actions).map(({ operation }) => operation);
    const refused = needs.find((command) => !this.allows(command));
    if (refused?.needs === undefined) return checked;
    throw notPermitted(refused.command, refused.needs);
  }

  /** A list that has been checked elsewhere, for a person: as it was written; secrets are `"***"`. @throws as {@link check}. */
  async shown(list: unknown): Promise<unknown[]> {
    return (await this.check(list, false)).actions.map(shownAction);
  }

  /** A function that replaces each text and number of `values` in a text by `***`, and gives no more than its first `most` characters. */
  masker(values: unknown): (text: string, most: number) => string {
    let secrets: Secrets | undefined;
    return (text, most) => {
      if (!secrets) {
        secrets = new Secrets();
        secrets.add(values);
      }
      return secrets.scrubStart(text, most);
    };
  }

  /** What these commands and secrets need that a caller with this grant may not use. */
  protected missing(names: readonly string[], grant: Grant, secrets: readonly string[] = []): string[] {
    const commands = names.flatMap((name) => {
      const operation = this.commands.get(name);
      return (operation && missingFor(grant, operation, name)) ?? [];
    });
    const refused = secrets.map(secretScope).filter((scope) => !allows(grant, scope));
    return [...commands, ...refused.map((scope) => `\${${scope}} needs ${scope}`)];
  }

  /** @throws a `forbidden` failure that names the commands and secrets that a caller with this grant may not use. */
  permit(names: readonly string[], grant: Grant, secrets: readonly string[] = [], who?: string): void {
    const refused = this.missing(names, grant, secrets);
    if (refused.length > 0) throw forbidden(beyond(grant, refused.join(", "), who));
  }

  /** What these commands, and the use of these secrets, need of the host on which they run. */
  needsOf(names: readonly string[], secrets: readonly string[] = []) {
    const ofCommands = names.flatMap((command) => {
      const operation = this.commands.get(command);
      return operation ? [{ command, scope: operation.scope, permission: operation.needs }] : [];
    });
    const ofSecrets = secrets.map((name) => ({
      command: `\${${secretScope(name)}}`,
      scope: secretScope(name),
      permission: undefined,
    }));
    return [...ofCommands, ...ofSecrets];
  }

  /**
   * What {@link permit} does not see of a list that other hosts will run: they do not know what a grant is without. So for such a grant,
   * all that runs has to be in the list itself. One of the other hosts may be this one.
   *
   * @throws a `forbidden` failure for a command that is left out, a list in a variable, and a script that is called by its name.
   */
  async permitElsewhere(list: unknown, grant: Grant): Promise<void> {
    if (!grant.without?.length) return;
    const { actions, commands } = await this.check(list, false);
    this.permit(commands, grant);
    for (const { operation, input, deferred, at } of flatten(actions)) {
      const refuse = (what: string) => {
        const why = "may have what is left out (--exclude-tools)";
        throw forbidden(`${at}: for other hosts, ${what} ${why}: write its actions into the list`);
      };
      if (operation.command === CALLS.command) refuse("a script");
      for (const field of remoteFields(operation.input)) {
        if (deferred.includes(field)) refuse("a list with variables");
        const given = input[field];
        if (given === undefined) continue;
        const { branches } = metadataOf(entryOf(operation.input, field) ?? v.unknown());
        await this.permitElsewhere(branches && Array.isArray(given) ? given.flat() : given, grant);
      }
    }
  }

  /** The scopes that these commands need, each once. */
  scopesOf(names: readonly string[]): Scope[] {
    const scopes = names.flatMap((name) => this.commands.get(name)?.scope ?? []);
    return [...new Set(scopes.filter((scope) => scope !== "any"))];
  }

  /**
   * {@link prepare} for the script at `path`. @throws a `bad_input` failure also when it cannot be read. No message quotes
   * an argument: the caller may not be allowed to read the file.
   */
  async prepareFile(path: string, requester: Requester): Promise<CheckedList> {
    const script = await readScript(path, { yaml: this.yaml, requester });
    const { actions, defaults } = script;
    const list = await withPlaces(script, async () =>
      this.link(await this.prepare(actions, false), path, requester, false),
    );
    return { ...list, defaults };
  }

  /**
   * {@link prepareFile} for what a job runs: a file, or `script:` and the name of a stored script.
   *
   * @throws also `not_found` for an unknown name, `unavailable` for one that was edited.
   */
  async prepareJob(path: string, requester: Requester): Promise<CheckedList> {
    if (!path.startsWith(STORED)) return this.prepareFile(path, requester);
    const name = path.slice(STORED.length);
    const script = await this.table.stored(name);
    const { actions, sha256, parameters, stop_on_error, timeout_s, pace, desktop, variables } = script;
    const list = await this.link(await this.prepare(actions, false), path, requester, false);
    const defaults = {
      stop_on_error,
      timeout_s,
      ...(pace !== undefined && { pace }),
      ...(desktop !== undefined && { desktop }),
      ...(variables && { variables }),
    };
    const described = `script=${name} stored=sha256:${sha256} ${list.described}`;
    return { ...list, described, defaults, parameters };
  }

  /**
   * A checked list with the scripts that it calls, which are read and checked now.
   *
   * @param from the path of its script, `script:` and its name for a stored one; empty for a list that was sent.
   * @param requester who has them read.
   * @param quote whether messages may quote paths.
   * @param here whether it will run here, so that this process must permit all of it.
   * @throws a `bad_input` failure that says where a script cannot be called.
   */
  async link(
    checked: CheckedList,
    from: string,
    requester: Requester,
    quote = true,
    here = true,
  ): Promise<CheckedList> {
    return linked(checked, from, this.linking(requester, quote, here));
  }

  /**
   * Checks scripts that are to be stored together, before any of them is: each calls the others as they will be, and itself.
   *
   * @param gone the names of stored scripts that will be stored no more.
   * @returns a function that checks one of them, with what it calls. It throws as {@link check} and {@link link}.
   */
  linkStored(
    scripts: readonly NewScript[],
    gone: readonly string[],
    requester: Requester,
  ): (script: NewScript) => Promise<CheckedList> {
    const given = new Map(scripts.map((script) => [script.name, script]));
    const removed = new Set(gone);
    const parts = this.linking(requester, true, false);
    // One that many call is checked once.
    const checks = new Map<unknown, Promise<CheckedList>>();
    const check = (list: unknown) => {
      const found = checks.get(list) ?? parts.check(list);
      checks.set(list, found);
      return found;
    };
    const stored = async (name: string) => {
      const found = given.get(name);
      if (found) return found;
      if (removed.has(name)) throw notFound(`the script ${name} is to be removed`);
      return parts.stored(name);
    };
    return async ({ name, actions }) =>
      linked(await this.check(actions), `${STORED}${name}`, { ...parts, check, stored });
  }

  /**
   * {@link check} with the files that travel to the hosts on which it runs, and all commands, also those of such scripts.
   *
   * @param from the absolute path of the list; empty for one that is in no file, with which none travels.
   * @throws as {@link check}; a `bad_input` failure that says where a file cannot be used.
   */
  async checkTravelling(list: unknown, from: string, requester: Requester) {
    const checked = await this.check(list);
    if (from === "") return { ...checked, travelling: undefined };
    const called: CalledScripts = new Map();
    const { staysThere, travellingWith } = await import("./travel");
    await linkCalled(
      { ...this.linking(requester, true, false), skips: staysThere },
      checked.actions,
      from,
      called,
      [from],
    );
    const travelling = await travellingWith(checked.actions, from, called);
    return { ...withCalled(checked, called), travelling };
  }

  protected linking(requester: Requester, quote: boolean, here = true) {
    const { stored } = this.table;
    const check = (list: unknown) => (here ? this.prepare(list, false) : this.check(list, false));
    return { reader: { yaml: this.yaml, requester }, stored, check, quote };
  }
}

/** A checked list with the scripts that it calls. @param from the path of its script. @throws as {@link linkCalled}. */
async function linked(
  checked: CheckedList,
  from: string,
  parts: Parameters<typeof linkCalled>[0],
): Promise<CheckedList> {
  const called: CalledScripts = new Map();
  await linkCalled(parts, checked.actions, from, called, [from]);
  if (called.size === 0) return { ...checked, called };
  const scripts = Array.from(called.values(), ({ path, described }) => [path, described]);
  const digest = Bun.SHA256.hash(JSON.stringify(scripts), "hex");
  const described = `${checked.described} calls=sha256:${digest}`;
  return { ...withCalled(checked, called), called, described };
}
