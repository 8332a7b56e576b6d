/** Attack: record TLS, and read it years later with the key of the certificate. */
import { expect } from "bun:test";
import { join } from "node:path";
import { serveBinary, temporaryFolder, testWith } from "../support";

testWith("openssl")("a client that offers no forward secrecy gets no connection", async () => {
  using folder = temporaryFolder();
  const [cert, key] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
  /** Whether openssl succeeds. */
  const openssl = async (...args: string[]) => {
    const child = Bun.spawn(["openssl", ...args], { stdio: ["ignore", "ignore", "ignore"] });
    return (await child.exited) === 0;
  };
  // Only a key of RSA can be used without forward secrecy.
  await openssl(
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=a",
    "-keyout",
    key,
    "-out",
    cert,
  );
  await using server = await serveBinary(["--tls-cert", cert, "--tls-key", key]);
  const offer = (...ciphers: string[]) =>
    openssl("s_client", "-connect", new URL(server.url).host, ...ciphers);
  expect(await offer("-tls1_2", "-cipher", "kRSA")).toBe(false);
  expect(await offer("-tls1_2", "-cipher", "ECDHE+AESGCM")).toBe(true);
  expect(await offer("-tls1_3")).toBe(true);
});
