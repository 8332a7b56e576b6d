/**
 * A page as a tree that a browser builds elements of, without a parser of its own.
 */
import { isObject } from "../lib/is-object";
import { anchorOf } from "./sections";

/** A text, or an element: its tag, its attributes, and what is in it. */
type Element = string | readonly [string, Readonly<Record<string, string | number>>, ...Element[]];

const KEPT = ["href", "start", "src", "alt"];

/** The Markdown `text` as elements; headings have their anchor as `id`. */
export function elementsOf(text: string): Element[] {
  const used = new Map<string, number>();
  return childrenOf(Bun.markdown.react(text)).map((child) => withAnchors(elementOf(child), used));
}

/** What is in an element of React (`{ type, props: { children } }`). */
function childrenOf(node: unknown): readonly unknown[] {
  const props = isObject(node) ? node.props : undefined;
  return isObject(props) && Array.isArray(props.children) ? props.children : [];
}

function elementOf(node: unknown): Element {
  if (!isObject(node) || typeof node.type !== "string") return String(node);
  const props = isObject(node.props) ? node.props : {};
  const kept = KEPT.flatMap((name) => {
    const value = props[name];
    return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
  });
  return [node.type, Object.fromEntries(kept), ...childrenOf(node).map(elementOf)];
}

function withAnchors(element: Element, used: Map<string, number>): Element {
  if (typeof element === "string" || !/^h[1-6]$/.test(element[0])) return element;
  const [tag, attributes, ...children] = element;
  const base = anchorOf(children.map(textOf).join(""));
  const nth = used.get(base) ?? 0;
  used.set(base, nth + 1);
  return [tag, { ...attributes, id: nth === 0 ? base : `${base}-${nth}` }, ...children];
}

const textOf = (element: Element): string =>
  typeof element === "string"
    ? element
    : element
        .slice(2)
        .map((child) => textOf(child as Element))
        .join("");
