/** The attack: stop the listener from a script, so that a server that nobody can reach lives on and looks well to systemd. */
import { expect, test } from "bun:test";
import { post, serveBinary, until } from "../support";

test("no server lives on without its listener: it does not stop it, or it ends with an error", async () => {
  await using host = await serveBinary(["--allow-shell"]);
  let code: number | undefined;
  void host.exited.then((exitCode) => {
    code = exitCode;
  });
  const response = await host.call("/execute", post({ actions: [["AC_rest_api_stop"]] }));
  const { ok } = (await response.json()) as { ok?: boolean };
  if (!ok) expect((await fetch(`${host.url}/health`)).status).toBe(200);
  else expect(await until("the end of the process", () => code)).toBe(1);
});
