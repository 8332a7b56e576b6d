/** What svc uses of `bare-http-parser`, which has no types of its own. */
declare module "bare-http-parser" {
  /** A response as far as its head. */
  export interface ResponseHead {
    readonly type: 2;
    readonly version: "HTTP/1.0" | "HTTP/1.1";
    readonly code: number;
    /** By their names in lower case; those of one name have commas between them. */
    readonly headers: Readonly<Record<string, string | undefined>>;
  }

  type Part =
    | ResponseHead
    | { readonly type: 1 | 4 }
    /** A part of the body, and of the bytes that were pushed. */
    | { readonly type: 3; readonly data: Uint8Array };

  export default class HTTPParser {
    static readonly constants: {
      readonly REQUEST: 1;
      readonly RESPONSE: 2;
      readonly DATA: 3;
      readonly END: 4;
    };
    /** The parts that end with these bytes. @throws an {@link HTTPParserError} for what is not HTTP/1. */
    push(bytes: Buffer): Iterable<Part>;
    /** What was pushed and is no part yet. */
    drain(): Buffer;
  }
}

declare module "bare-http-parser/errors" {
  export default class HTTPParserError extends Error {}
}
