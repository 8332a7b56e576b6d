/**
 * Counts every answer and times it, refusals included.
 */
import { after, type Step } from "./exchange";

export interface RequestMetrics {
  /**
   * Counts a request that was answered.
   *
   * @param method `GET`, `POST` or `other`.
   * @param path the path template of its route.
   * @param lacks what the host lacks that it asked for, where that is no error of the server; null for nothing.
   */
  record_request(method: string, path: string, status: number, seconds: number, lacks: "screen" | null): void;
  /** Counts a request with a wrong or malformed token. */
  countFailedAuth(): void;
}

export const measure =
  (metrics: RequestMetrics): Step =>
  (next) =>
  (exchange) =>
    after(next(exchange), (response) => {
      const { request, route, started, lacks } = exchange;
      const method = request.method === "GET" || request.method === "POST" ? request.method : "other";
      const seconds = (performance.now() - started) / 1_000;
      metrics.record_request(method, route.path, response.status, seconds, lacks);
      return response;
    });
