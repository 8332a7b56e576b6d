/**
 * What diagnostics look at: the rest of svc, as `service.ts` hands it over. Each call throws what its feature throws.
 */

/** One of the desktop's answers to a question that changes nothing. */
export interface DesktopSubject {
  screenSize(signal: AbortSignal): Promise<Size>;
  pointer(signal: AbortSignal): Promise<{ readonly x: number; readonly y: number }>;
  screenshot(
    frame: { readonly monitor?: number },
    file: null,
    signal: AbortSignal,
  ): Promise<Size & { base64: string | null }>;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The server that runs on the same `{config_dir}`, in this process or another. */
export interface ServerSubject {
  readonly url: string;
  readonly pid: number;
  /** Asks it whether it is well. */
  health(): Promise<unknown>;
  /** Asks it what it is. */
  overview(): Promise<{
    readonly version: string;
    readonly uptimeSeconds: number;
    /** Audit rows that it could not write. */
    readonly auditFailures: number;
  }>;
}

/** The audit log. */
export interface AuditSubject {
  /** Why no row can be written, null when one can. */
  problem(): Promise<string | null>;
  verify(): Promise<{
    readonly ok: boolean;
    readonly broken_at_id: number | null;
    readonly total_rows: number;
    readonly reason: string | null;
  }>;
  /** Newest first. */
  list(query: {
    readonly limit: number;
  }): Promise<ReadonlyArray<{ readonly id: number; readonly ts: string }>>;
}

export interface ExecutorSubject {
  /** How many commands there are. */
  readonly commands: number;
  /** How many runs go on or wait for their turn. */
  readonly runs: number;
  /** Checks an action as part of a list would be, and performs it outside any run. */
  perform(action: unknown, signal: AbortSignal): Promise<void>;
}

export interface PrivateFile {
  /** As a person is told of it. */
  readonly name: string;
  readonly path: string;
  /** What else to do when others could read it. */
  readonly leaked: readonly string[];
}

export interface Subjects {
  readonly configDir: string;
  /** Files that are nobody else's business; they need not be there. */
  privateFiles(): readonly PrivateFile[];
  desktop(): Promise<DesktopSubject>;
  /** Null when none is kept. */
  audit(): Promise<AuditSubject | null>;
  /** Which way USB devices are listed, and why not through the addon. */
  usb(): Promise<{ readonly backend: string; readonly error: string | null }>;
  /** The version of the WebRTC library. */
  webrtc(): Promise<string>;
  executor(): Promise<ExecutorSubject>;
  /** Null when none runs. */
  server(): ServerSubject | null;
}
