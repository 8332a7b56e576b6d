import type { Task } from "../task";
export const files: readonly Task[] = [];
