/**
 * Blocks as a script has them: as they were written, and with their variables filled in.
 */
import * as v from "valibot";
import { field, HOST_LIST } from "../../core/fields";
import { checkInput, sentence } from "../../core/input";
import type { RunContext } from "../../core/run";
import { hasReference } from "../../core/written";
import { badInput } from "../../lib/errors";
import { BLOCK_FIELDS, type Block, COMMAND, keywordsOf, ONE_HOST } from "./blocks";

/** What `AC_on` takes. */
export const ON_INPUT = v.strictObject({
  host: field(ONE_HOST, "The host: its label, or a selection of one host, such as tag:server"),
  body: field(
    HOST_LIST,
    "Actions that it runs, up to the first that fails; variables in them are those of the block",
  ),
  ...BLOCK_FIELDS,
});

/** The block of an `AC_on` that stands alone. */
export const blockOf = (input: v.InferOutput<typeof ON_INPUT>, place: string): Block => {
  const { secret: _, ...block } = input;
  return { ...block, place };
};

/** A block as it was written, for the check of a list: variables are not filled in yet. */
export function writtenBlock(written: Readonly<Record<string, unknown>>, place: string): Block {
  const { host, body, share } = written;
  return {
    place,
    host: typeof host === "string" ? host : "",
    body: Array.isArray(body) ? body : [],
    share: Array.isArray(share)
      ? share.filter((name) => typeof name === "string" && !hasReference(name))
      : [],
    variables: {},
    timeout: 1,
  };
}

/** The blocks of branches as they were written. @throws `bad_input` for an action that is none. */
export function writtenBranches(branches: unknown): Block[][] {
  return (Array.isArray(branches) ? branches : []).map((branch: unknown, nth) =>
    (Array.isArray(branch) ? branch : []).map((action: unknown, at) => {
      const where = `branches[${nth}][${at}]`;
      requireBlock(action, where);
      return writtenBlock(keywordsOf(ON_INPUT, action), where);
    }),
  );
}

function requireBlock(action: unknown, where: string): void {
  if (!Array.isArray(action) || action[0] !== COMMAND.on)
    throw badInput(`branches: ${where}: expected ${COMMAND.on}: a branch is what hosts do`);
  if (Object.hasOwn(Object(action[1]), "as"))
    throw badInput(
      `branches: ${where}: expected no \`as\` in a branch: \`share\` names what a block gives back`,
    );
}

/** The arguments of a block in a branch, with their variables filled in; those in its body are of its host. */
export function filledIn(action: unknown, run: RunContext, place: string): v.InferOutput<typeof ON_INPUT> {
  requireBlock(action, place);
  const { body, ...others } = keywordsOf(ON_INPUT, action);
  const checked = checkInput(ON_INPUT, { ...Object(run.hand(others)), body }, { quote: false });
  if (checked.ok) return checked.input;
  throw badInput(`branches: ${place}: ${sentence(checked.offences)}`);
}
