/** What finds faults in the files of a desk. */
import type { Readers } from "../desk/join/desk-bundle";

export async function deskReaders(): Promise<Readers> {
  const [book, nats, operator, settings, viewers, office, states] = await Promise.all([
    import("../desk/fleet/address-book"),
    import("../wire/nats/desk-part"),
    import("../desk/nats/operator"),
    import("../host/config/settings"),
    import("../host/desktop/screen/trusted-viewers"),
    import("../desk/join/standby/office"),
    import("../desk/plans/state/kept"),
  ]);
  return {
    "admin_hosts.json": book.addressBookFaults,
    "nats.json": nats.deskPartFaults,
    "nats_operator.json": operator.operatorFaults,
    "host_service.json": settings.settingsFaults,
    "trusted_viewers.json": viewers.trustedFaults,
    "desk_generation.json": office.generationFaults,
    "fleet_states.json": states.fleetStatesFaults,
  };
}
