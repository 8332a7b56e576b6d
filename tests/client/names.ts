/**
 * Looks up twenty names that nobody answers for, and then `lab.test`, and prints the address of that: in a network of its own
 * (`unshare`), whose name server this is.
 */
import { lookup } from "../../src/client/dial";

/** Type A, class IN, no lifetime, four bytes (RFC 1035 section 3.2.1), for the name in the question. */
const ADDRESS = Buffer.from("c00c 0001 0001 00000000 0004 7f000001".replaceAll(" ", ""), "hex");

const run = (...command: string[]) => Bun.spawnSync(command, { stdio: ["ignore", "ignore", "inherit"] });
run("ip", "link", "set", "lo", "up");
run("mount", "--bind", `${process.argv[2]}`, "/etc/resolv.conf");
await Bun.udpSocket({
  hostname: "127.0.0.9",
  port: 53,
  socket: {
    data(socket, asked, port, address) {
      if (!asked.includes("lab")) return;
      // What follows the name: its end, type and class. There is no address but that of IPv4.
      const end = asked.indexOf(0, 12) + 5;
      const found = asked.readUInt16BE(end - 4) === 1;
      const head = Buffer.from([0x81, 0x80, 0, 1, 0, found ? 1 : 0, 0, 0, 0, 0]);
      const answer = [asked.subarray(0, 2), head, asked.subarray(12, end), ...(found ? [ADDRESS] : [])];
      socket.send(Buffer.concat(answer), port, address);
    },
  },
});
for (let nth = 0; nth < 20; nth++) lookup(`dead-${nth}.test`, {}, () => {});
lookup("lab.test", {}, (error, address) => {
  console.log(error?.message ?? address);
  process.exit();
});
