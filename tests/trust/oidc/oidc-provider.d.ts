/** As far as the tests use it: the package has no types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";
  export type Configuration = Readonly<Record<string, unknown>> & {
    findAccount(context: unknown, sub: string): { accountId: string; claims(): object };
  };
  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): RequestListener;
    on(
      event: "grant.error",
      listener: (context: unknown, error: { readonly error_detail?: string }) => void,
    ): void;
  }
}
