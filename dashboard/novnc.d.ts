/** noVNC as it is served: its own module, bundled, under a name of ours. */
export default class RFB {
  constructor(place: HTMLElement, channel: WebSocket | RTCDataChannel, options?: { shared?: boolean });
  viewOnly: boolean;
  scaleViewport: boolean;
  clipViewport: boolean;
  dragViewport: boolean;
  focusOnClick: boolean;
  background: string;
  /** Reads one update of the picture as far as it is here; true when it is whole. */
  _framebufferUpdate(): boolean;
  addEventListener(type: string, listener: (event: CustomEvent) => void): void;
  disconnect(): void;
  sendKey(keysym: number, code: string | null, down?: boolean): void;
  clipboardPasteFrom(text: string): void;
  toBlob(take: (blob: Blob | null) => void, type?: string): void;
}
