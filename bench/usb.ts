/**
 * What listing USB devices costs on Linux: a sysfs tree of 500 devices against reading the same files bare.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { list as listLinux } from "../src/host/usb/lister-linux";
import { type Figure, paired, temporaryFolder, timed } from "./support";

const DEVICES = 500;

const ATTRIBUTES = {
  idVendor: "0781\n",
  idProduct: "5567\n",
  manufacturer: "SanDisk\n",
  product: "Cruzer Blade\n",
  serial: "4C530001230615109384\n",
  bDeviceClass: "00\n",
  speed: "480\n",
  devnum: "7\n",
};

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const names = plant(folder.path);
  const list = timed(() => {
    const found = listLinux(folder.path).length;
    if (found !== DEVICES) throw new Error(`expected ${DEVICES} devices but found ${found}`);
  });
  const bare = timed(() => readBare(folder.path, names));
  const { ratio, subject, baseline } = await paired(list, bare, 21);
  return [
    {
      name: `listing ${DEVICES} USB devices from sysfs against reading the same files`,
      ratio,
      goal: "<= 2",
      detail: `${subject.toFixed(1)} / ${baseline.toFixed(1)} ms`,
    },
  ];
}

/** 500 sticks on 25 hubs, each with one interface and its driver; their names. */
function plant(root: string): string[] {
  const devices = join(root, "bus/usb/devices");
  mkdirSync(devices, { recursive: true });
  return Array.from({ length: DEVICES }, (_, at) => {
    const name = `1-${Math.floor(at / 20) + 1}.${(at % 20) + 1}`;
    const folder = join(root, "devices/usb1", name);
    mkdirSync(join(folder, `${name}:1.0`), { recursive: true });
    symlinkSync("../../../../bus/usb/drivers/usb-storage", join(folder, `${name}:1.0`, "driver"));
    for (const [file, text] of Object.entries(ATTRIBUTES)) writeFileSync(join(folder, file), text);
    symlinkSync(`../../../devices/usb1/${name}`, join(devices, name));
    return name;
  });
}

function readBare(root: string, names: readonly string[]): void {
  readdirSync(join(root, "bus/usb/devices"));
  for (const name of names) {
    const folder = `${root}/bus/usb/devices/${name}`;
    readdirSync(folder);
    for (const file of Object.keys(ATTRIBUTES)) readFileSync(`${folder}/${file}`);
    readlinkSync(`${folder}/${name}:1.0/driver`);
  }
}
