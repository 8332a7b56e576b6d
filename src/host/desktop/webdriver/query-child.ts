/**
 * The child process that finds elements of a tree by XPath and CSS, and writes the tree as XML: an expression may take long, and the
 * libraries are loaded for nobody else.
 */
import { DOMImplementation, type DOMImplementation as Implementation, XMLSerializer } from "@xmldom/xmldom";
import { type Options, selectAll } from "css-select";
import { serveParent } from "../../../lib/child";
import { badInput, messageOf } from "../../../lib/errors";
import type { QueryBranch, QueryCalls } from "./query";

type Document = ReturnType<Implementation["createDocument"]>;
type Element = NonNullable<Document["documentElement"]>;

/** Its types bring those of a browser with them, which are not those of Bun. */
const { select }: { select(expression: string, from: unknown): unknown } = require("xpath");

/** What XML 1.0 has no place for (section 2.2). */
const NO_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function documentOf(branches: readonly QueryBranch[]): {
  readonly document: Document;
  readonly elements: readonly Element[];
} {
  const document = new DOMImplementation().createDocument(null, "desktop", null);
  const elements: Element[] = [];
  const add = (parent: Element, { role, attributes, children }: QueryBranch) => {
    const element = document.createElement(role);
    for (const [name, value] of Object.entries(attributes))
      element.setAttribute(name, value.replaceAll(NO_XML, "\ufffd"));
    elements.push(element);
    parent.appendChild(element);
    for (const child of children) add(element, child);
  };
  const root = document.documentElement;
  if (root) for (const branch of branches) add(root, branch);
  return { document, elements };
}

const childrenOf = (element: Element): Element[] =>
  Array.from(element.childNodes).filter((node): node is Element => node.nodeType === 1);
const parentOf = (element: Element): Element | null => element.parentElement as Element | null;

/** What css-select asks of a tree. */
const ADAPTER: Options<Element, Element>["adapter"] = {
  isTag: (_node): _node is Element => true,
  getAttributeValue: (element, name) => element.getAttribute(name) ?? undefined,
  getChildren: childrenOf,
  getName: (element) => element.tagName,
  getParent: parentOf,
  getSiblings(element) {
    const parent = parentOf(element);
    return parent ? childrenOf(parent) : [element];
  },
  getText: (element) => element.getAttribute("name") ?? "",
  hasAttrib: (element, name) => element.hasAttribute(name),
  removeSubsets: (nodes) => nodes,
};

const calls: QueryCalls = {
  select(tree, using, expression, isWithin) {
    const { document, elements } = documentOf(tree);
    const places = new Map(elements.map((element, at) => [element, at]));
    // Within an element, that is the first, and what it holds is meant.
    const from = isWithin ? elements[0] : document.documentElement;
    if (!from) return [];
    const found = using === "xpath" ? byXpath(expression, from) : byCss(expression, from);
    return found.flatMap((one) => places.get(one) ?? []).filter((at) => !isWithin || at > 0);
  },
  source: (tree) => new XMLSerializer().serializeToString(documentOf(tree).document),
};

function byXpath(expression: string, from: Element): Element[] {
  let found: unknown;
  try {
    found = select(expression, from);
  } catch (error) {
    throw badInput(`xpath: ${messageOf(error).slice(0, 300)}`);
  }
  const nodes = Array.isArray(found) ? (found as Element[]) : undefined;
  if (!nodes || nodes.some(({ nodeType }) => nodeType !== 1))
    throw badInput("xpath: expected an expression that selects elements, not attributes, numbers or texts");
  return nodes;
}

function byCss(selector: string, from: Element): Element[] {
  try {
    return selectAll<Element, Element>(selector, childrenOf(from), { adapter: ADAPTER, xmlMode: true });
  } catch (error) {
    throw badInput(`css selector: ${messageOf(error).slice(0, 300)}`);
  }
}

export default function queryChild(): Promise<void> {
  return serveParent(() => calls);
}
