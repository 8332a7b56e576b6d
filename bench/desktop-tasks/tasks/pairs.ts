import type { Task } from "../task";
export const pairs: readonly Task[] = [];
