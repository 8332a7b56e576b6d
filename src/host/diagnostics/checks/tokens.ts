/** `tokens`: no named token works for ever or ends unnoticed, and the owner's token stays on this host. */
import { check, fine, warning } from "../check";

interface Uses {
  tokens(): Promise<{
    list(): ReadonlyArray<{ readonly name: string; readonly expires: string | null }>;
    endingLate(now: number): readonly string[];
    ownerFromElsewhere(): string | null;
  }>;
}

const DAY_MS = 86_400_000;

/** How long before its end a token is warned of, and how long the use of the owner's token from elsewhere is. */
const WEEK_MS = 7 * DAY_MS;

/** Names in a line for a person; `extra` has all of them. */
const MAX_NAMED = 10;

export const tokens = check({
  name: "tokens",
  summary:
    "A warning where a named token never expires, has expired or does so within a week, works for longer than it was made for, or the owner's token was used over the network within a week",
  advice: ["svc token list", "mend tokens.json, or restore it from a backup"],
  async run(service: Uses) {
    const found = await service.tokens();
    const now = Date.now();
    return judgeTokens(found.list(), found.ownerFromElsewhere(), now, found.endingLate(now));
  },
});

/**
 * @param late the names of those that end later than they were made for.
 * @param ownerFromElsewhere the day on which the owner's token was last used over the network; null for never.
 */
export function judgeTokens(
  all: ReadonlyArray<{ readonly name: string; readonly expires: string | null }>,
  ownerFromElsewhere: string | null,
  now: number,
  late: readonly string[] = [],
) {
  const endsBy = (time: number) => (one: { readonly expires: string | null }) =>
    one.expires !== null && Date.parse(one.expires) <= time;
  const namesOf = (some: typeof all) => some.map(({ name }) => name);
  const expired = namesOf(all.filter(endsBy(now)));
  const ending = namesOf(all.filter((one) => endsBy(now + WEEK_MS)(one) && !endsBy(now)(one)));
  const endless = namesOf(all.filter(({ expires }) => expires === null));
  const isRecent = ownerFromElsewhere !== null && Date.parse(ownerFromElsewhere) > now - WEEK_MS - DAY_MS;

  const problems: Array<readonly [detail: string, advice: string]> = [];
  if (isRecent) {
    problems.push([
      `the owner's token, which allows everything, was used over the network on ${ownerFromElsewhere}`,
      "give that machine a token of its own (svc token add NAME --scope …), then svc token rotate",
    ]);
  }
  if (late.length > 0) {
    const advice = "svc token rotate NAME where it is still needed, else svc token remove NAME";
    problems.push([`works for longer than it was made for, as the clock was ahead: ${named(late)}`, advice]);
  }
  if (ending.length > 0) {
    const advice = "svc token rotate NAME --overlap 24h; a desk: svc admin rotate LABEL";
    problems.push([`expires within a week: ${named(ending)}`, advice]);
  }
  if (expired.length > 0) {
    const advice = "svc token rotate NAME where it is still needed, else svc token remove NAME";
    problems.push([`expired: ${named(expired)}`, advice]);
  }
  if (endless.length > 0) {
    const advice = "svc token rotate NAME --expires 90d --overlap 24h";
    problems.push([`without expiry: ${named(endless)}`, advice]);
  }
  const lists = { expired, ending, endless, late };
  const extra = { count: all.length, ...lists, owner_from_elsewhere: ownerFromElsewhere };
  if (problems.length === 0) return fine(`named tokens: ${all.length}`, extra);
  const [details, advice] = [problems.map(([detail]) => detail), problems.map(([, what]) => what)];
  return warning(details.join("; "), advice, extra);
}

function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
