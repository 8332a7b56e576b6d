/** A host joins a desk on another network, with a router between them; then the router answers in its place. */
import { expect } from "bun:test";
import { constants, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { BINARY, temporaryFolder, testWith } from "../support";

/** This namespace is the router. */
const NETWORKS = `
mount -t tmpfs none /run && mkdir /run/netns
sysctl() { echo "$2" > "/proc/sys/net/$1"; }
nth=0
for name in desk lab; do
  nth=$((nth + 1))
  ip netns add "$name"
  ip link add "to-$name" type veth peer name eth0 netns "$name"
  ip address add "10.77.$nth.1/24" dev "to-$name"
  ip link set "to-$name" up
  nsenter --net="/run/netns/$name" sh -ec "
    ip link set lo up
    ip address add 10.77.$nth.2/24 dev eth0
    ip link set eth0 up
    ip route add default via 10.77.$nth.1
    until ip -brief link show eth0 | grep -q ' UP '; do sleep 0.05; done"
done
sysctl ipv4/ip_forward 1
on() { name=$1; shift; nsenter --net="/run/netns/$name" "$FLEET/svc" "$@" --config-dir "$FLEET/$name"; }
for name in desk lab; do
  on "$name" serve --host 0.0.0.0 --port 9939 >"$FLEET/$name.log" 2>&1 </dev/null &
  until [ -e "$FLEET/$name/run/rest.json" ]; do sleep 0.05; done
done
`;

const JOIN = `
on desk join-token --tag lab > "$FLEET/string"
began=$(date +%s%N)
on lab join --label lab-1 < "$FLEET/string" >/dev/null
on desk admin poll --json
echo "$(( ($(date +%s%N) - began) / 1000000 ))"
on desk admin list --json
on lab pin
`;

/** The router takes the address of the host and answers there itself. */
const INTERCEPT = `
ip link set lo up
ip address add 10.77.2.2/32 dev lo
mkdir -m 700 "$FLEET/man"
"$FLEET/svc" serve --host 0.0.0.0 --port 9939 --config-dir "$FLEET/man" >"$FLEET/man.log" 2>&1 </dev/null &
until [ -e "$FLEET/man/run/rest.json" ]; do sleep 0.05; done
on desk admin poll --json || true
"$FLEET/svc" audit list --json --config-dir "$FLEET/man"
`;

testWith(
  "ip",
  "nsenter",
  "unshare",
)(
  "a host behind a router joins and is healthy; the router, with a key of its own, hears nothing",
  async () => {
    using folder = temporaryFolder();
    copyFileSync(BINARY, join(folder.path, "svc"), constants.COPYFILE_FICLONE);
    for (const name of ["desk", "lab"]) mkdirSync(join(folder.path, name), { mode: 0o700 });
    const apart = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"];
    const child = Bun.spawn(
      [...apart, "bash", "-eu", "-o", "pipefail", "-c", `${NETWORKS}${JOIN}${INTERCEPT}`],
      {
        env: { PATH: process.env.PATH, FLEET: folder.path },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const printed = (await child.stdout.text()).trimEnd().split("\n");
    expect(await child.exited, printed.join("\n")).toBe(0);
    const [polled = "", took, listed = "", pin, intercepted = "", heard = ""] = printed;
    expect(JSON.parse(polled)).toMatchObject([
      { label: "lab-1", base_url: "https://10.77.2.2:9939", healthy: true, error: null },
    ]);
    expect(JSON.parse(listed)).toMatchObject([{ label: "lab-1", tags: ["lab"], trust: "key", pin }]);
    expect(JSON.parse(intercepted)).toMatchObject([
      { label: "lab-1", healthy: false, error: "the key is not the pinned one" },
    ]);
    expect(JSON.parse(heard)).toEqual({ rows: [], count: 0 });
    console.info(`from join to the first green poll: ${took} ms`);
  },
);
