/** What a desk and a host say to each other of Robot Framework: XML-RPC, which the desk hands on as it is. */
import type { Limit } from "../core/rights";

/** Where a host takes calls of Robot Framework. @param scopes what they are limited to; null for all that the token allows. */
export const robotPath = (scopes: readonly Limit[] | null): string =>
  scopes === null
    ? "/robot"
    : `/robot?${new URLSearchParams(scopes.map((scope): [string, string] => ["scope", scope]))}`;

/** The largest answer, in bytes: that of a keyword, with its picture. */
export const MAX_ANSWER_BYTES = 16 * 1_048_576;
