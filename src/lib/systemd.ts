/** Directives that systemd units of svc share (systemd.exec(5)). */

/** What a system call filter can do: a user's manager may not have the right to make namespaces. */
export const HARDENING = `NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
UMask=0077`;

/** Lets the service divide its own memory (systemd.resource-control(5), cgroups(7)). */
export const DIVIDES_MEMORY = `Delegate=memory
ProtectControlGroups=no`;

/** The rest, for a daemon of the machine. */
export const SYSTEM_HARDENING = `ProtectSystem=strict
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM`;
