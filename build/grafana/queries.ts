/**
 * PromQL over the hosts that are chosen at the top of the dashboard.
 */

/** `$tag` is the name of a label that the wanted hosts have; `job`, which all have, stands for any host. */
const CHOSEN = 'job=~"$job", $tag=~".+", instance=~"$instance"';

/** Without those for want of a screen, which are no errors of the server. */
export const ERRORS = 'status=~"5..", lacks=""';
export const FAILED = 'status=~"error|timeout"';
/** What a host answers within milliseconds, and somebody asks for all the time. */
export const AT_ONCE = 'path=~"/health|/metrics|/sessions|/jobs"';

/** Alerts that fire, whatever is chosen: those of the whole fleet are about no host. */
export const FIRING = 'ALERTS{alertname=~"Svc.+", alertstate="firing"}';

/** The series of `metric` at the chosen hosts. */
export const at = (metric: string, matchers = "") => `${metric}{${CHOSEN}${matchers && `, ${matchers}`}}`;

/** By how much a counter rises a second. */
export const rate = (counter: string, matchers?: string) =>
  `rate(${at(counter, matchers)}[$__rate_interval])`;

/** By how much a counter has risen within what the dashboard shows. */
export const increase = (counter: string, matchers?: string) =>
  `increase(${at(counter, matchers)}[$__range])`;

/** What `share` of the values that a histogram takes are below. */
export const quantile = (share: number, histogram: string, by: readonly string[] = [], matchers?: string) =>
  `histogram_quantile(${share}, sum by (${[...by, "le"].join(", ")}) (${rate(`${histogram}_bucket`, matchers)}))`;

/** The average of what the histogram of a host takes. */
export const mean = (histogram: string) =>
  `${perHost(rate(`${histogram}_sum`))} / ${perHost(rate(`${histogram}_count`))}`;

export const perHost = (query: string) => `sum by (instance) (${query})`;

/** The ten highest. */
export const mostOf = (query: string) => `topk(10, ${query})`;
