/**
 * What stands for a service where a command needs little of one, or none: a service takes longer to load than all else of such a command.
 */
import type { Log } from "../lib/log";
import { once } from "../lib/once";
import { resolveConfigDir } from "../lib/paths";
import { createFolders } from "../service/folders";
import type { Service } from "../service/service";
import { commandLog, type GlobalFlags, newService } from "./subcommand";

/** What makes the service that another one stands for. */
const makers = new WeakMap<Service, () => Promise<Service>>();

/** The folder and the log of a service, of which nothing else may be used. */
export const folderAlone = ({ configDir }: GlobalFlags): Service =>
  partial({ configDir: resolveConfigDir(configDir), log: commandLog() });

/**
 * Lets `work` use what stands for a service: its folder, its log, and what asks the server of the folder. A service is made where that
 * server does not answer ({@link makerOf}), and stopped after the work.
 */
export async function withLateService<T>(
  globals: GlobalFlags,
  work: (service: Service) => Promise<T>,
  newOne = newService,
): Promise<T> {
  const configDir = resolveConfigDir(globals.configDir);
  const { check } = createFolders({ configDir, takesFiles: false });
  const late = partial({
    get configDir() {
      check();
      return configDir;
    },
    log: commandLog(),
  });
  let made: Service | undefined;
  const make = once(async () => {
    made = await newOne(globals);
    return made;
  });
  makers.set(late, make);
  try {
    return await work(late);
  } finally {
    await made?.stop();
  }
}

/** What makes the service that `service` stands for; undefined for what is one itself. */
export const makerOf = (service: Service): (() => Promise<Service>) | undefined => makers.get(service);

function partial(own: { readonly configDir: string; readonly log: Log }): Service {
  const known: Partial<Service> = own;
  const service = new Proxy(known, {
    get(_, key) {
      // No service of a folder has the latter.
      if (typeof key === "symbol" || Object.hasOwn(known, key) || key === "elsewhere")
        return Reflect.get(known, key);
      throw new Error(`a command that needs no service asks it for ${key}`);
    },
  });
  return service as Service;
}
