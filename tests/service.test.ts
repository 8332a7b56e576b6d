import { expect, test } from "bun:test";
import { testService } from "./support";

test("a feature that cannot be stopped keeps no other from being stopped, and is told", async () => {
  await using made = testService();
  const { service } = made;
  const audit = await service.audit();
  const history = await service.history();
  const stopped: string[] = [];
  Object.assign(history, {
    close() {
      throw new Error("the disk is gone");
    },
  });
  const close = audit?.close.bind(audit);
  Object.assign(audit ?? {}, {
    async close() {
      await close?.();
      stopped.push("audit");
    },
  });
  await expect(service.stop()).rejects.toThrow("the disk is gone");
  expect(stopped).toEqual(["audit"]);
  await service.stop();
  expect(stopped).toEqual(["audit"]);
});
