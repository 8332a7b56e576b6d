/** Debian's nats-server, with an account for hosts and desks as `svc nats` makes it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  newScopedSigner,
} from "@nats-io/jwt";
import { spkiPin } from "../../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../../src/trust/certificate";
import { temporaryFolder, until } from "../../support";

type Key = ReturnType<typeof createUser>;

const seedOf = (key: Key) => new TextDecoder().decode(key.getSeed());

const HOST = {
  pub: { allow: ["svc.v1.up.{{subject()}}.>"] },
  sub: { allow: ["svc.v1.host.{{subject()}}.>"] },
  resp: { max: 1_000, ttl: 300e9 },
  ...{ subs: 8, data: -1, payload: 1_048_576 },
};
const DESK = {
  pub: { allow: ["svc.v1.host.>", "svc.v1.desk.{{subject()}}.>"] },
  sub: { allow: ["svc.v1.up.>", "svc.v1.desk.>", "_INBOX.{{subject()}}.>"] },
  ...{ subs: -1, data: -1, payload: -1 },
};

export interface Credentials {
  readonly id: string;
  readonly seed: string;
  readonly jwt: string;
}

/** A server; stopped when the scope ends. */
export async function startNats({ tls = false }: { readonly tls?: boolean } = {}) {
  const folder = temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const [operator, system, account] = [createOperator(), createAccount(), createAccount()];
  const [hostSigner, deskSigner] = [createAccount(), createAccount()];
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: 0,
  };
  const signing_keys = [
    newScopedSigner(hostSigner, "host", HOST as never),
    newScopedSigner(deskSigner, "desk", DESK as never),
  ];
  const jwts = [
    await encodeOperator("test", operator, { system_account: system.getPublicKey() } as never),
    await encodeAccount("SYS", system, {} as never, { signer: operator }),
    await encodeAccount("FLEET", account, { limits, signing_keys } as never, { signer: operator }),
  ];
  const key = makeKey();
  const cert = makeCertificate(parseKey(key), "nats", ["localhost", "127.0.0.1"], new Date());
  writeFileSync(at("key.pem"), key);
  writeFileSync(at("cert.pem"), cert);
  mkdirSync(at("ports"));
  const free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = free;
  free.stop(true);
  writeFileSync(
    at("server.conf"),
    `listen: 127.0.0.1:${port}
operator: ${jwts[0]}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${system.getPublicKey()}: ${jwts[1]}, ${account.getPublicKey()}: ${jwts[2]} }
${tls ? 'tls { cert_file: "cert.pem", key_file: "key.pem" }' : ""}
`,
  );
  const start = () =>
    Bun.spawn(["nats-server", "-c", "server.conf", "-l", "log"], {
      cwd: folder.path,
      stdio: ["ignore", "ignore", "ignore"],
    });
  const isUp = async () => {
    const open = Promise.withResolvers<boolean>();
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data(socket) {
          open.resolve(true);
          socket.end();
        },
        error() {},
        close: () => open.resolve(false),
      },
    }).catch(() => open.resolve(false));
    return open.promise;
  };
  let child = start();
  await until("the NATS server", isUp);
  const user = async (name: string, signer: Key, made = createUser()): Promise<Credentials> => ({
    id: made.getPublicKey(),
    seed: seedOf(made),
    jwt: await encodeUser(
      name,
      made,
      signer,
      { issuer_account: account.getPublicKey() } as never,
      {
        scopedUser: true,
      } as never,
    ),
  });
  const server = {
    urls: [`${tls ? "tls" : "nats"}://127.0.0.1:${port}`],
    ...(tls && { pin: spkiPin(cert) }),
  };
  return {
    ...{
      folder: folder.path,
      server,
      port,
      cert,
      account: account.getPublicKey(),
      hostSigner: seedOf(hostSigner),
    },
    host: (name = "host") => user(name, hostSigner),
    desk: (name = "desk") => user(name, deskSigner),
    /** The part of a desk, as `nats.json` has it. */
    async part(name = "desk") {
      const { id, seed, jwt } = await user(name, deskSigner);
      return {
        svc_nats: 1,
        server,
        ...{
          account: account.getPublicKey(),
          host_signer: seedOf(hostSigner),
          desk: { name, id, seed, jwt },
        },
      };
    },
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async start() {
      child = start();
      await until("the NATS server", isUp);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}
