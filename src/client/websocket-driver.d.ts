/** What svc uses of `websocket-driver`, which has no types of its own. */
declare module "websocket-driver" {
  import type { EventEmitter } from "node:events";

  export interface Client extends EventEmitter {
    /** Of the response, once there is one. */
    readonly statusCode?: number;
    /** What it writes is sent to the other end. */
    readonly io: EventEmitter;
    start(): boolean;
    /** Takes what the other end has sent. */
    parse(bytes: Buffer): void;
    text(message: string): boolean;
    binary(message: Buffer): boolean;
    ping(message: string, answered: () => void): boolean;
    close(reason: string, code: number): boolean;
  }

  /** @param options `maxLength`: of a message, in bytes. */
  function client(
    url: string,
    options: { readonly protocols: readonly string[]; readonly maxLength: number },
  ): Client;

  export default { client };
}
