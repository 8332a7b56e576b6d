/** What an app is made of, for a test: nobody is locked out, and nothing is written down. */
import type { AppParts } from "../../src/http/app";
import { createClientResolver } from "../../src/http/client-address";
import { createGate } from "../../src/http/gate";
import { createOpenAnswers } from "../../src/http/open-answers";
import { createRepeats } from "../../src/http/repeats";
import { createRequestAudit } from "../../src/http/request-audit";
import { createSockets } from "../../src/http/sockets";
import { createUnreadAnswers } from "../../src/http/unread";
import { createWorkTurns } from "../../src/http/work-turns";
import { silentLog } from "../../src/lib/log";
import { operations } from "../../src/operations";
import type { Service } from "../../src/service/service";
import { digestToken, ownerToken } from "../../src/trust/scopes";

/** The parts of an app over the table and `service`. @param token the host's own. */
export function appParts(service: Service, token: string, metrics: AppParts["metrics"]): AppParts {
  const digest = digestToken(token);
  const tokens = { guessable: ownerToken(() => digest), generated: () => undefined };
  const gate = createGate(tokens, { ratePerMinute: 0, burst: 1 });
  return {
    service,
    operations,
    gate,
    openAnswers: createOpenAnswers(gate),
    sockets: createSockets(),
    clients: createClientResolver([]),
    connections: { accept() {} },
    answersTo: () => true,
    metrics,
    audit: createRequestAudit(null, () => {}),
    uses: { note() {}, session() {} },
    entryOf: async () => undefined,
    maxBodyBytes: 1,
    log: silentLog,
    stopping: new AbortController().signal,
    untilRevoked: () => new AbortController().signal,
    unread: createUnreadAnswers(),
    turns: createWorkTurns(),
    runOne: async () => null,
    repeats: createRepeats(() => "", silentLog),
  };
}
