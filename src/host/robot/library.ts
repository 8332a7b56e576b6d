/**
 * The remote library interface of Robot Framework (https://github.com/robotframework/RemoteInterface): what its methods answer.
 */
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { badInput, Failure, failureOf, HTTP_STATUS, messageOf, notFound } from "../../lib/errors";
import { once } from "../../lib/once";
import { printable } from "../../lib/sanitize";
import { type MethodCall, parseInSlices } from "../../lib/xml-rpc/parse";
import { answerXml, faultXml } from "../../lib/xml-rpc/write";
import { actionsIn, keywordOf } from "./from-table";
import { type Keyword, signatureOf, typeOf } from "./keyword";
import { ownKeywords } from "./own";
import { type RunParts, runKeyword } from "./run";

/** The library. */
export interface RobotLibrary {
  readonly keywords: readonly Keyword[];
  /** The answer to a call of XML-RPC, also where it fails. Never throws. @param runs takes the keyword before it runs. */
  answer(xml: string, caller: Caller): Promise<string>;
}

/** What a library says of itself, before its keywords. */
export const INTRODUCTION = `Uses a desktop, and the rest of a host, through svc.

An element is named in one line: \`button "Save" window "Order"\`, \`textbox contains "Cust"\`, \`checkbox "Paid" not checked\`.
Times are seconds, or a text such as \`90s\`. Keywords need the scopes of their tags: the token decides.

See \`svc help robot\` and \`svc help elements\`.`;

/** All keywords, by name. */
export function keywordsOf(operations: readonly Operation[]): Keyword[] {
  const all = [...ownKeywords(operations), ...actionsIn(operations).map(keywordOf)];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** What Robot does not tell apart: case, spaces and underscores. */
const plainName = (name: string) => name.toLowerCase().replaceAll(/[ _]/g, "");

export function createLibrary(parts: RunParts): RobotLibrary {
  const keywords = keywordsOf(parts.operations);
  const byName = new Map(keywords.map((one) => [plainName(one.name), one]));
  const information = once(async () => ({
    __intro__: { doc: INTRODUCTION },
    ...Object.fromEntries(keywords.map((one) => [one.name, descriptionOf(one)])),
  }));
  const named = (params: readonly unknown[]): Keyword => {
    const [name] = params;
    if (typeof name !== "string") throw badInput("expected the name of a keyword");
    const found = byName.get(plainName(name));
    if (!found) throw notFound(`there is no keyword ${printable(JSON.stringify(name), 100)}`);
    return found;
  };
  const special = (params: readonly unknown[]) =>
    params[0] === "__intro__" ? INTRODUCTION : params[0] === "__init__" ? "" : undefined;
  const methods: Readonly<Record<string, (params: readonly unknown[], caller: Caller) => unknown>> = {
    get_library_information: () => information(),
    get_keyword_names: () => keywords.map(({ name }) => name),
    get_keyword_documentation: (params) => special(params) ?? docOf(named(params)),
    get_keyword_arguments: (params) =>
      special(params) === undefined ? signatureOf(named(params).parameters) : [],
    get_keyword_types: (params) => (special(params) === undefined ? typesOf(named(params)) : {}),
    get_keyword_tags: (params) => named(params).tags,
    run_keyword(params, caller) {
      const keyword = named(params);
      const [, args = [], kwargs = {}] = params;
      if (!Array.isArray(args)) throw badInput("expected the arguments of the keyword in a list");
      if (typeof kwargs !== "object" || kwargs === null || Array.isArray(kwargs))
        throw badInput("expected the named arguments of the keyword in a struct");
      return runKeyword(parts, keyword, args, { ...kwargs }, caller);
    },
  };
  return {
    keywords,
    async answer(xml, caller) {
      try {
        const { method, params }: MethodCall = await parseInSlices(xml);
        const answer = Object.hasOwn(methods, method) ? methods[method] : undefined;
        if (!answer) throw notFound(`there is no method ${printable(JSON.stringify(method), 100)}`);
        return answerXml(await answer(params, caller));
      } catch (thrown) {
        const failure = failureOf(thrown);
        if (!failure) parts.log.error(`a call of Robot Framework failed: ${messageOf(thrown)}`, thrown);
        const { code, message } = failure ?? new Failure("unavailable", "internal error");
        return faultXml(failure ? HTTP_STATUS[code] : 500, message);
      }
    },
  };
}

const descriptionOf = (keyword: Keyword) => ({
  args: signatureOf(keyword.parameters),
  types: typesOf(keyword),
  tags: keyword.tags,
  doc: docOf(keyword),
});

const typesOf = ({ parameters }: Keyword): Record<string, string> =>
  Object.fromEntries(
    parameters.flatMap(({ name, schema }) => {
      const type = schema && typeOf(schema);
      return type === undefined ? [] : [[name, type]];
    }),
  );

/** What Robot shows of a keyword: what it does, and a table of its arguments. */
export function docOf({ summary, parameters }: Keyword): string {
  const rows = parameters.map(
    ({ name, description }) =>
      `| \`${name}\` | ${description.replaceAll("|", "/").replaceAll(/\s+/g, " ")} |`,
  );
  return [`${summary}.`, ...(rows.length > 0 ? ["", ...rows] : [])].join("\n");
}
