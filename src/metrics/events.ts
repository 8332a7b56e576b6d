/** The events of the counts of requests. */

import { REQUEST_TOTALS } from "../core/answer-schemas";
import { eventType } from "../core/events";

export const requestsCounted = eventType({
  name: "requests.counted",
  summary: "Requests were answered: once a second at most, with the counts since the start",
  scope: "read",
  data: REQUEST_TOTALS,
});

export const eventTypes = [requestsCounted];
