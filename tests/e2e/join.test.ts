/** A host joins a desk behind a router, as the compiled binary: two networks, and nothing between them but IP. */
import { expect } from "bun:test";
import { installBinary, runToEnd, testWith } from "../support";

/** Networks 10.1.0.0/24 of the desk and 10.2.0.0/24 of the host; the router forwards between them. */
const NETWORKS = `mount -t tmpfs tmpfs /run
for name in router desk host; do ip netns add $name; ip -n $name link set lo up; done
ip link add desk-port netns router type veth peer name out netns desk
ip link add host-port netns router type veth peer name out netns host
ip -n router address add 10.1.0.1/24 dev desk-port
ip -n router address add 10.2.0.1/24 dev host-port
ip -n desk address add 10.1.0.2/24 dev out
ip -n host address add 10.2.0.2/24 dev out
for port in desk-port host-port; do ip -n router link set $port up; done
for name in desk host; do
  ip -n $name link set out up
  until ip -n $name link show out | grep -q "state UP"; do sleep 0.05; done
done
ip -n desk route add default via 10.1.0.1
ip -n host route add default via 10.2.0.1
ip netns exec router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'`;

const JOIN = `for name in desk host; do
  ip netns exec $name ./svc serve --host 0.0.0.0 --config-dir $name 2> $name.log > $name.out &
  until [ -e $name/run/rest.json ]; do sleep 0.05; done
done
ip netns exec desk ./svc join-token --config-dir desk > string
began=$(date +%s%N)
ip netns exec host ./svc join --label behind-the-router --config-dir host < string
ip netns exec desk ./svc admin poll --config-dir desk
echo "from the join to the end of the first poll: $((($(date +%s%N) - began) / 1000000)) ms" >&2`;

testWith(
  "ip",
  "nsenter",
  "unshare",
)("a host joins through a router, and the first poll is healthy", async () => {
  using machine = installBinary();
  const apart = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"];
  const { stdout, stderr, exitCode } = await runToEnd(
    [...apart, "bash", "-eu", "-c", `${NETWORKS}\n${JOIN}`],
    { cwd: machine.path },
  );
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("first poll")]);
  console.info(stderr.trim().split("\n").at(-1));
  expect(stdout).toContain(
    "joined the desk at 10.1.0.2:9939 as behind-the-router; it will look for this host at https://10.2.0.2:9939",
  );
  expect(stdout).toContain("1 of 1 healthy");
});
