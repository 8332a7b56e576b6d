/**
 * Whether hosts ran what the plan was applied for.
 *
 * The promise: what the rows of a host say that it ran is what the digest of the plan stands for, or it is said that this is not shown. A
 * desk that was taken over signs jobs of any plan, with any content; hosts put on record which content that was.
 */
import { badInput, rejected } from "../../../lib/errors";
import { commitmentOf, digestOfContents, type PlanContents } from "../../../wire/job/plan-digest";
import type { PlanStatement, PlanTarget } from "../../../wire/receipt/statement";

type About = Pick<PlanStatement["predicate"]["plan"], "content_sha256">;

/** The limits of a plan, and what they say of its content: undefined for a plan that an earlier svc has made. */
export interface PlanSpec {
  readonly limits: object;
  readonly contents: PlanContents | undefined;
}

/** @param text as a receipt has them. @throws `bad_input` for what is none. */
export function specIn(text: string): PlanSpec {
  try {
    const limits: unknown = JSON.parse(text);
    if (limits !== null && typeof limits === "object" && JSON.stringify(limits) === text) {
      const { contents } = limits as { readonly contents?: unknown };
      if (contents === undefined || contents === "one" || contents === "each") return { limits, contents };
    }
  } catch {
    // As below.
  }
  throw badInput("file: expected the limits of the plan as JSON");
}

/**
 * @throws a `rejected` failure where what stands for the contents of hosts is missing, or is not what the digest of the plan has.
 */
export function requireContents(
  { content_sha256 }: About,
  { contents }: PlanSpec,
  targets: readonly PlanTarget[],
): void {
  const shown = targets.flatMap(({ content }) => content?.commitment ?? []);
  if (contents === "each" && shown.length < targets.length)
    throw rejected("what stands for the content of a host was left out");
  if (contents !== "each" && shown.length > 0)
    throw rejected("the plan has no content for each host, but the receipt shows one");
  if (contents === "each" && digestOfContents(shown) !== content_sha256)
    throw rejected("the digest of the plan is not that of the contents of its hosts");
}

/**
 * Whether it is shown that a host ran what the plan has for it.
 *
 * @param ran the digest of what it ran. @param contents what is known of the plan: undefined where that is nothing.
 * @returns false where nothing shows it. @throws a `rejected` failure where it ran something else.
 */
export function isContentShown(
  { label, content }: Pick<PlanTarget, "label" | "content">,
  ran: string,
  { content_sha256 }: About,
  contents: PlanContents | undefined,
): boolean {
  if (contents === undefined) return ran === content_sha256;
  const isMeant = contents === "one" ? ran === content_sha256 : isCommitted(content, ran);
  if (!isMeant) throw rejected(`${label} ran something else than the plan was applied for`);
  return true;
}

const isCommitted = (content: PlanTarget["content"], ran: string): boolean =>
  content !== undefined && content.key !== null && commitmentOf(content.key, ran) === content.commitment;

/**
 * @param shown of each host with a receipt, for a plan that does not say what its content is.
 * @throws a `rejected` failure where some ran what the digest of the plan is of, and others something else: where each host has its own
 *   content, none can be that.
 */
export function requireAlike(shown: readonly boolean[]): void {
  if (shown.includes(true) && shown.includes(false))
    throw rejected("some hosts ran something else than the plan was applied for");
}
