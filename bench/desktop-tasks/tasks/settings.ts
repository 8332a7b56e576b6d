import type { Task } from "../task";
export const settings: readonly Task[] = [];
