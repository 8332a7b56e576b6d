/**
 * Where the values of a JSON text are, and where a text stops being JSON (RFC 8259). `JSON.parse` says neither.
 */

/** A place in a text, counted from 1; columns in UTF-16 units, as editors count them. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Deeper values have the place of what they are in: each level takes some of the stack. */
const MAX_DEPTH = 500;

/** A JSON Pointer (RFC 6901). */
export function pointerTo(keys: ReadonlyArray<string | number>): string {
  return keys.map((key) => `/${`${key}`.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The places of the values at `pointers` in `text`, which is JSON; of what is not there, the place of what it would be in. */
export function placesIn(text: string, pointers: readonly string[]): TextPlace[] {
  const { places } = new Scanner(text, new Set(pointers.flatMap(withParents))).scan();
  return pointers.map((pointer) => {
    const found = withParents(pointer).findLast((one) => places.has(one)) ?? "";
    return places.get(found) ?? { line: 1, column: 1 };
  });
}

/** The first place at which `text` is not JSON, and what JSON has there; undefined when it is JSON, or too deep to say. */
export function faultIn(text: string): (TextPlace & { readonly expected: string }) | undefined {
  return new Scanner(text, new Set()).scan().fault;
}

/** The pointer and those of all that it is in, the outermost (``) first. */
const withParents = (pointer: string): string[] =>
  pointer.split("/").map((_, nth, keys) => keys.slice(0, nth + 1).join("/"));

class Fault {
  constructor(readonly expected: string) {}
}

class Scanner {
  private readonly places = new Map<string, TextPlace>();
  private at = 0;
  private line = 1;
  private lineStart = 0;

  /** @param wanted the pointers whose places are kept, and those of all that they are in. */
  constructor(
    private readonly text: string,
    private readonly wanted: ReadonlySet<string>,
  ) {}

  scan() {
    const { places } = this;
    try {
      this.value("", 0);
      if (this.next() !== "") throw new Fault("the end");
      return { places, fault: undefined };
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return { places, fault: fault.expected ? { ...this.here(), expected: fault.expected } : undefined };
    }
  }

  private here(): TextPlace {
    return { line: this.line, column: this.at - this.lineStart + 1 };
  }

  /** The next character that is no white space; empty at the end. */
  private next(): string {
    for (; ; this.at++) {
      const character = this.text[this.at];
      if (character === "\n") [this.line, this.lineStart] = [this.line + 1, this.at + 1];
      else if (character !== " " && character !== "\t" && character !== "\r") return character ?? "";
    }
  }

  private value(pointer: string | undefined, depth: number): void {
    if (depth > MAX_DEPTH) throw new Fault("");
    const first = this.next();
    if (pointer !== undefined) this.places.set(pointer, this.here());
    if (first === "[") this.members("]", (nth) => this.value(this.inside(pointer, nth), depth + 1));
    else if (first === "{") this.members("}", () => this.field(pointer, depth));
    else if (first === '"') this.string();
    else this.take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y, "a value");
  }

  private members(close: "]" | "}", member: (nth: number) => void): void {
    this.at++;
    if (this.next() === close) {
      this.at++;
      return;
    }
    for (let nth = 0; ; nth++) {
      member(nth);
      const found = this.next();
      if (found !== "," && found !== close) throw new Fault(`, or ${close}`);
      this.at++;
      if (found === close) return;
    }
  }

  private field(pointer: string | undefined, depth: number): void {
    if (this.next() !== '"') throw new Fault("a name in double quotes");
    const from = this.at;
    this.string();
    const name = pointer === undefined ? "" : JSON.parse(this.text.slice(from, this.at));
    if (this.next() !== ":") throw new Fault(":");
    this.at++;
    this.value(this.inside(pointer, name), depth + 1);
  }

  /** In pieces: one pattern for all of a long text would need a stack as long. */
  private string(): void {
    for (this.at++; ; ) {
      this.take(/[^"\\\u0000-\u001f]*/y, "");
      if (this.text[this.at] === '"') break;
      if (this.text[this.at] !== "\\") throw new Fault('" at the end of the text');
      this.take(/\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y, "an escape such as \\n");
    }
    this.at++;
  }

  private take(pattern: RegExp, expected: string): void {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) throw new Fault(expected);
    this.at = pattern.lastIndex;
  }

  private inside(pointer: string | undefined, key: string | number): string | undefined {
    const inner = pointer === undefined ? undefined : pointer + pointerTo([key]);
    return inner !== undefined && this.wanted.has(inner) ? inner : undefined;
  }
}
