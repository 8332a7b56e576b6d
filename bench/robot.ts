/**
 * What Robot Framework costs an action: a keyword over `POST /robot` against the same action over `POST /execute`, on one server, one
 * call after the other as suites make them.
 */
import { type Figure, paired, startSvc, TOKEN, temporaryFolder } from "./support";

const CALLS = 300;

const KEYWORD =
  "<methodCall><methodName>run_keyword</methodName><params><param><value>Inspector Reset</value></param>" +
  "<param><value><array><data/></array></value></param></params></methodCall>";

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await using svc = await startSvc(folder.path);
  const basic = `Basic ${Buffer.from(`svc:${TOKEN}`).toString("base64")}`;
  const msOf = async (path: string, body: string, authorization: string, expected: string) => {
    const began = performance.now();
    for (let nth = 0; nth < CALLS; nth++) {
      const response = await fetch(svc.url + path, { method: "POST", headers: { authorization }, body });
      const text = await response.text();
      if (!text.includes(expected)) throw new Error(`${path}: ${text}`);
    }
    return (performance.now() - began) / CALLS;
  };
  const actions = JSON.stringify({ actions: [["AC_inspector_reset"]] });
  const { ratio, subject, baseline } = await paired(
    () => msOf("/robot", KEYWORD, basic, "PASS"),
    () => msOf("/execute", actions, `Bearer ${TOKEN}`, '"ok":true'),
  );
  const added = subject - baseline;
  const detail = `${subject.toFixed(2)} / ${baseline.toFixed(2)} ms, ${added.toFixed(2)} ms added (goal: at most 5 ms)`;
  return [{ name: "a keyword of Robot Framework / its action", ratio, goal: "<= 2", detail }];
}
