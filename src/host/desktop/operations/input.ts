/**
 * The operations of screen, pointer and keyboard.
 */
import { takeInput } from "../input-place";
import { hotkey, pressKey, releaseKey, typeKey, writeText } from "./keyboard";
import {
  clickMouse,
  dragMouse,
  mousePosition,
  pressMouse,
  releaseMouse,
  scrollMouse,
  setMousePosition,
} from "./pointer";
import { listMonitors, saveScreenshot, screenSize, screenshot } from "./screenshot";

export const operations = [
  screenSize,
  listMonitors,
  screenshot,
  takeInput,
  saveScreenshot,
  mousePosition,
  setMousePosition,
  clickMouse,
  pressMouse,
  releaseMouse,
  scrollMouse,
  dragMouse,
  typeKey,
  pressKey,
  releaseKey,
  hotkey,
  writeText,
];
