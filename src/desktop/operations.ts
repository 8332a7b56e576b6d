import { operations as keyboard } from "./operations/keyboard";
import { operations as pointer } from "./operations/pointer";
import { operations as screen } from "./operations/screen";
import { operations as windows } from "./operations/windows";

export const operations = [...screen, ...pointer, ...keyboard, ...windows];
