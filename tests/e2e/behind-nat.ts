/**
 * Networks as a fleet has them: a desk with an address that all reach, and sites behind NAT, which nobody reaches from outside.
 * They are network namespaces in a user namespace of their own, so that this needs no root.
 */

/** The programs that it takes. */
export const PROGRAMS = ["ip", "iptables", "nsenter", "unshare"] as const;

/** The address of the desk. The world outside consists of it and of the routers of the sites. */
export const DESK = "203.0.113.1";

/**
 * This namespace is a switch: the world. Each site has a router that translates addresses, and behind it one machine at
 * 192.168.0.2, in every site the same.
 */
const NETWORKS = `
mount -t tmpfs none /run && mkdir /run/netns
ip link add world type bridge && ip link set world up
space() {
  ip netns add "$1"
  # An address of IPv6 is there a second or two later, at which Chromium drops what it is loading: ERR_NETWORK_CHANGED.
  nsenter --net="/run/netns/$1" sh -c 'for one in all default; do echo 1 > "/proc/sys/net/ipv6/conf/$one/disable_ipv6"; done' || true
  ip -n "$1" link set lo up
}
plug() { # SPACE ADDRESS: into the world
  ip link add "to-$1" type veth peer name world netns "$1"
  ip link set "to-$1" master world && ip link set "to-$1" up
  ip -n "$1" address add "$2/24" dev world
  ip -n "$1" link set world up
}
space desk && plug desk ${DESK}
nth=10
for site in "$@"; do
  nth=$((nth + 1))
  space "$site" && space "$site-router" && plug "$site-router" "203.0.113.$nth"
  ip link add site netns "$site-router" type veth peer name site netns "$site"
  ip -n "$site-router" address add 192.168.0.1/24 dev site
  ip -n "$site" address add 192.168.0.2/24 dev site
  for at in "$site-router" "$site"; do ip -n "$at" link set site up; done
  ip -n "$site" route add default via 192.168.0.1
  nsenter --net="/run/netns/$site-router" sh -ec '
    echo 1 > /proc/sys/net/ipv4/ip_forward
    iptables -t nat -A POSTROUTING -o world -j MASQUERADE
    iptables -P FORWARD DROP
    iptables -A FORWARD -i site -j ACCEPT
    iptables -A FORWARD -m state --state ESTABLISHED,RELATED -j ACCEPT'
done
echo ready
exec sleep infinity
`;

/** The desk's network and those of `sites`; they end with the scope, and with them all that runs there. */
export async function startNetworks(...sites: string[]) {
  const apart = ["unshare", "--map-root-user", "--mount", "--net"];
  const holder = Bun.spawn([...apart, "bash", "-eu", "-c", NETWORKS, "networks", ...sites], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value } = await holder.stdout.getReader().read();
  if (!value) throw new Error("the networks were not made");
  const within = (space: string) => [
    ...["nsenter", `--target=${holder.pid}`, "--user", "--preserve-credentials"],
    ...(space === "" ? ["--mount", "--net"] : [`--net=/proc/${holder.pid}/root/run/netns/${space}`]),
  ];
  return {
    /** What to put in front of a command that runs on the desk, at a site or on its router; "": on the switch. */
    within,
    /** Pulls the machine of `site` out of its network and puts it into that of another, with an address of that one. */
    async move(site: string, to: string) {
      const moved = `
        ip -n ${site} link delete site
        ip link add guest netns ${to}-router type veth peer name site netns ${site}
        ip -n ${to}-router address add 192.168.9.1/24 dev guest
        ip -n ${to}-router link set guest up
        nsenter --net=/run/netns/${to}-router iptables -A FORWARD -i guest -j ACCEPT
        ip -n ${site} address add 192.168.9.2/24 dev site
        ip -n ${site} link set site up
        ip -n ${site} route add default via 192.168.9.1`;
      await Bun.$`${within("")} sh -ec ${moved}`.quiet();
    },
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
      await holder.exited;
    },
  };
}
