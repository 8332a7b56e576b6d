/**
 * What libraries of tests cost an action: a keyword of Robot Framework over `POST /robot` against the same action over `POST /execute`,
 * and a script of WebDriver against it; on one server, one call after the other as suites make them.
 */
import { type Figure, paired, startSvc, TOKEN, temporaryFolder } from "./support";

const CALLS = 60;

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
  const json = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const ask = (path: string, body: object) =>
    fetch(`${svc.url}/webdriver${path}`, { method: "POST", headers: json, body: JSON.stringify(body) });
  const made = (await (await ask("/session", { capabilities: {} })).json()) as {
    value: { sessionId: string };
  };
  const script = JSON.stringify({ script: "svc: run", args: [[["AC_inspector_reset"]]] });
  const path = `/webdriver/session/${made.value.sessionId}/execute/sync`;
  const driven = await paired(
    () => msOf(path, script, `Bearer ${TOKEN}`, '"ok":true'),
    () => msOf("/execute", actions, `Bearer ${TOKEN}`, '"ok":true'),
  );
  const more = driven.subject - driven.baseline;
  const times = `${driven.subject.toFixed(2)} / ${driven.baseline.toFixed(2)} ms, ${more.toFixed(2)} ms added (goal: at most 5 ms)`;
  return [
    { name: "a keyword of Robot Framework / its action", ratio, goal: "<= 2", detail },
    { name: "a script of WebDriver / its action", ratio: driven.ratio, goal: "<= 2", detail: times },
  ];
}
