import type { Task } from "../task";
export const sheets: readonly Task[] = [];
