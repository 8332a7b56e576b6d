/** The signature of the screen, for a desk that compares its hosts. */
import { operation } from "../../../../core/operation";
import type { Grant } from "../../../../core/rights";
import { signatureEndpoint } from "../../../../wire/screen/signature";
import type { Signatures } from "./signatures";

interface Uses {
  screens(): Promise<{ requireTrusted(grant: Grant): void }>;
  signatures(): Promise<Signatures>;
}

const signature = operation({
  ...signatureEndpoint,
  summary:
    "Return what a desk compares screens by: titles of windows, texts of the one with the focus, 16 by 16 blocks of the picture",
  scope: "screen",
  reveals: "announces",
  leftOut: {
    cli: "`svc admin odd` compares the screens of hosts",
    script: "AC_admin_odd compares the screens of hosts",
  },
  http: { method: "GET", path: "/screen/signature", routine: true },
  async run(service: Uses, _input, caller) {
    const [signatures, screens] = await Promise.all([service.signatures(), service.screens()]);
    screens.requireTrusted(caller.grant);
    // Before it is taken: it reads texts of programs.
    await signatures.onRecord(
      caller,
      "screen.signature: compares titles of windows, texts and a coarse picture",
    );
    return signatures.get();
  },
});

export const operations = [signature];
