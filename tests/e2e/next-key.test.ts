/** A host gets a new key, and the desk that has pinned the old one follows. */
import { expect, test } from "bun:test";
import { installBinary, serveBinary, TOKEN } from "../support";

test("a desk follows the key that a host announces, and needs a new pin for one that it does not", async () => {
  await using host = await serveBinary(["--tls", "--rate-limit", "0"]);
  using desk = installBinary();
  const onHost = async (...args: string[]) => {
    const { stdout } = await desk.run([...args, "--json", "--config-dir", host.configDir], {
      env: { SVC_TOKEN: TOKEN },
    });
    return JSON.parse(stdout) as { pin: string; next_spki: string | null };
  };
  const poll = async () => JSON.parse((await desk.run(["admin", "poll", "--json"])).stdout)[0].error;
  const pins = async () => {
    const [{ pin, next_pin }] = JSON.parse((await desk.run(["admin", "list", "--json"])).stdout);
    return [pin, next_pin];
  };
  const { pin: first } = await onHost("pin");
  const added = await desk.run(["admin", "add", "lab", host.url, "--pin", first], {
    env: { SVC_HOST_TOKEN: TOKEN },
  });
  expect(added).toMatchObject({ exitCode: 0 });

  await onHost("tls", "renew");
  expect([await poll(), await pins()]).toEqual([null, [first, null]]);

  const { next_spki: second } = await onHost("tls", "renew", "--new-key");
  expect([await poll(), await pins()]).toEqual([null, [first, second]]);
  await onHost("tls", "renew", "--new-key", "--overlap", "0");
  expect((await onHost("pin")).pin).toBe(second ?? "");
  expect([await poll(), await pins()]).toEqual([null, [second, null]]);

  await onHost("tls", "renew", "--new-key", "--overlap", "0");
  expect([await poll(), await pins()]).toEqual(["the key is not the pinned one", [second, null]]);
  const { pin: third } = await onHost("pin");
  await desk.run(["admin", "set", "lab", "--pin", third]);
  expect([await poll(), await pins()]).toEqual([null, [third, null]]);
});
