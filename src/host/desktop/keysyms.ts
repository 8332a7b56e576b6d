/** Numbers of keys as X has them (X11/keysymdef.h), and viewers of the live screen send them. */

/** Whether it is a character; the others, from 0xfd00 up to those of Unicode, are keys with names. */
export const isCharacter = (keysym: number): boolean => keysym < 0xfd00 || keysym >= 0x0100_0000;

/** Whether there is such a keysym at all: others, which a viewer may send, are left out. */
export const isKeysym = (keysym: number): boolean =>
  (keysym >= 0x20 && keysym <= 0xffff) ||
  (keysym >= 0x0100_0100 && keysym <= 0x0110_ffff) ||
  (keysym >= 0x1008_0000 && keysym <= 0x1008_ffff);
