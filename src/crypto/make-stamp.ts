import { createPrivateKey, ECDH, sign } from "node:crypto";

export interface StampingKey {
  /** Compressed P-256 point, lowercase hex. */
  publicKey: string;
  /** The scalar, hex. */
  privateKey: string;
}

/** The `X-Stamp` header for `body`, as a client sends it; used by the command line and by load tests. */
export function makeStamp({ publicKey, privateKey }: StampingKey, body: string | Uint8Array): string {
  return stamper({ publicKey, privateKey })(body);
}

/** The same for many bodies, importing the key once. */
export function stamper({ publicKey, privateKey }: StampingKey): (body: string | Uint8Array) => string {
  const point = ECDH.convertKey(publicKey, "prime256v1", "hex", undefined, "uncompressed") as Buffer;
  const key = createPrivateKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: "P-256",
      x: point.subarray(1, 33).toString("base64url"),
      y: point.subarray(33).toString("base64url"),
      d: Buffer.from(privateKey, "hex").toString("base64url"),
    },
  });
  return (body) => {
    const signature = sign("sha256", Buffer.from(body as Uint8Array), key).toString("hex");
    const stamp = { publicKey, signature, scheme: "SIGNATURE_SCHEME_TK_API_P256" };
    return Buffer.from(JSON.stringify(stamp)).toString("base64url");
  };
}
