/** How many characters the password of a VNC viewer has: more do not count, and fewer are guessed. */
export const PASSWORD_LENGTH = { least: 6, most: 8 };
