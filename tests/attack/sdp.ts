/** A well-formed offer of nobody. */
export const SDP = [
  ...["v=0", "o=- 1 0 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic:WMS *"],
  ...["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendrecv"],
  ...["a=sctp-port:5000", "a=max-message-size:262144", "a=setup:actpass", "a=ice-ufrag:abcd"],
  ...[`a=ice-pwd:${"0123456789".repeat(3)}`, `a=fingerprint:sha-256 ${Array(32).fill("AB").join(":")}`, ""],
].join("\r\n");
